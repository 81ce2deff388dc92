"""What programs cost on a target: bytes, steps and time."""
