"""Rows that tests write to files, and read back."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from edgemon.compiler.data.loading import Dataset

X = np.arange(10 * 4 * 4 * 3, dtype=np.uint8).reshape(10, 4, 4, 3)


def all_rows(data: Dataset) -> np.ndarray:
    return np.concatenate(list(data.blocks(3)))


def image_folder(root: Path, classes: dict[str, list[np.ndarray]]) -> str:
    """A folder of PNG files for each class; its path."""
    for name, images in classes.items():
        (root / name).mkdir(parents=True)
        for i, image in enumerate(images):
            Image.fromarray(image).save(root / name / f"{i}.png")
    return str(root)
