"""Reference, C and ONNX Runtime give the same verdicts; and how a device tests itself."""
