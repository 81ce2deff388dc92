"""Digits as image files in class folders, and a linear classifier of them as ONNX."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from tests.tiny_onnx import write_linear_onnx

NAMES = ("apple", "bean", "corn", "date", "elder", "fig", "grape", "hazel", "iris", "juniper")
TRAINED_ON = 400  # the first of the shuffled digits


@cache
def digits() -> tuple[np.ndarray, np.ndarray]:
    """(1797, 8, 8) of uint8 and their labels, shuffled."""
    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    return (found.images * 16).clip(0, 255).astype(np.uint8)[order], found.target[order]


def write_digits_onnx(path: Path, *, channels: int = 1) -> Path:
    """Takes (8, 8, channels) in 0..1; right on some 92 % of the digits it did not see."""
    x, y = (part[:TRAINED_ON] for part in digits())
    flat = np.repeat(x[..., None], channels, axis=-1).reshape(len(x), -1) / 255
    fitted = LogisticRegression(max_iter=200).fit(flat, y)
    return write_linear_onnx(path, (8, 8, channels), fitted.coef_.T, fitted.intercept_)


def write_folders(root: Path, names: tuple[str, ...], rows: int = 500) -> Path:
    """``rows`` digits that the classifier did not see, as PNG; none of a class called "" ."""
    x, y = (part[TRAINED_ON : TRAINED_ON + rows] for part in digits())
    for i, (image, label) in enumerate(zip(x, y, strict=True)):
        if names[label]:
            (root / names[label]).mkdir(parents=True, exist_ok=True)
            Image.fromarray(image).save(root / names[label] / f"{i:04d}.png")
    return root
