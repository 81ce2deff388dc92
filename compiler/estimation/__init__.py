"""How often a model is right on rows without labels, or with a few."""
