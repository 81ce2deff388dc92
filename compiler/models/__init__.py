"""Front ends: open a trained classifier, choose the tensors to monitor, run it elsewhere.

Models are untrusted: no process but a worker ever runs one.
"""
