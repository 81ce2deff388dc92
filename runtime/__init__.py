"""The device side: a compiled monitor beside its model. Needs NumPy and a TFLite interpreter."""
