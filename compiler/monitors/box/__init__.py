"""Boxes around the activations of a class, on one layer or on several."""
