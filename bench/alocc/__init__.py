"""ALOCC: images that a network, trained to clean images of one class, cannot redraw."""
