"""What the model computed on the rows, on disk, and whether it is any good there."""
