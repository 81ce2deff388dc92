"""Canny's edges (1986) and the equalised histogram, of bytes, for drops on a lens.

Gradients are Sobel's, their size is the sum of both absolute values, limits are 50 and 150: what
CIFAR-10-C used.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy

from edgemon.compiler.faults.image import Floats

WEAK, STRONG = 50.0, 150.0
FLAT = np.tan(np.pi / 8)  # a direction below it is horizontal, above its inverse vertical


def edges(x: Floats) -> npt.NDArray[np.bool_]:
    """(H, W): ridges of the gradient of an image (H, W) in 0..255 that are weak, and reach a
    strong one."""
    down, across = (
        scipy.ndimage.sobel(x, 0, mode="nearest"),
        scipy.ndimage.sobel(x, 1, mode="nearest"),
    )
    size = np.abs(down) + np.abs(across)
    framed = np.pad(size, 1)
    height, width = x.shape

    def near(rows: int, columns: int) -> Floats:
        found: Floats = framed[1 + rows : 1 + rows + height, 1 + columns : 1 + columns + width]
        return found

    flat, steep = np.abs(down) < FLAT * np.abs(across), np.abs(down) * FLAT > np.abs(across)
    falling = (down < 0) != (across < 0)
    ridge = np.select(
        [flat, steep, falling],
        [_peak(size, near(0, -1), near(0, 1)), _peak(size, near(-1, 0), near(1, 0)),
         _peak(size, near(-1, 1), near(1, -1))],
        _peak(size, near(-1, -1), near(1, 1)),
    ) & (size > WEAK)  # fmt: skip
    pieces, _ = scipy.ndimage.label(ridge, np.ones((3, 3)))
    kept = np.unique(pieces[ridge & (size > STRONG)])
    return np.isin(pieces, kept[kept > 0])


def _peak(size: Floats, before: Floats, after: Floats) -> npt.NDArray[np.bool_]:
    """Larger than the one before, and no smaller than the one after: of two equals one remains."""
    return (size > before) & (size >= after)


def equalised(x: Floats) -> Floats:
    """Bytes (H, W), spread so that each is as frequent as any other."""
    counts = np.bincount(x.astype(np.uint8).ravel(), minlength=256)
    first = int(np.flatnonzero(counts)[0])
    rest = x.size - counts[first]
    if not rest:
        return x
    counts[first] = 0
    found: Floats = np.rint(np.cumsum(counts) * (255 / rest))[x.astype(np.uint8)]
    return found
