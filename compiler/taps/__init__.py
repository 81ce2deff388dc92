"""Which tensors monitors read, and whether reading them changes the model."""
