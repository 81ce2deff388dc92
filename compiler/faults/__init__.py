"""Faults of images: what is done to them, by kind, severity and seed (``registry.make``), and
changes of one property (``properties``).

The corruptions are those of Hendrycks & Dietterich 2019, "Benchmarking Neural Network Robustness
to Common Corruptions and Perturbations", with the constants of its CIFAR-10-C, for images of any
size. ``noise``, ``blur``, ``weather``, ``digital``, ``geometry`` and ``sensor`` compute them, one
image at a time; ``registry`` knows them all; ``attacks`` ask a model for its gradient.
"""
