"""What several monitors are made of."""
