"""Bilinear resizing with antialiasing, equal to Pillow's BILINEAR.

The method: a triangle filter whose support grows with the down-scaling factor, first along the
rows, then along the columns. On uint8 the normalised coefficients are rounded to 22 fractional
bits and each pass rounds to uint8; elsewhere sums are float64, in order, and each pass rounds to
float32 (Pillow's mode "F").
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

FRACTION_BITS = 22


def resize_bilinear(image: Array, width: int, height: int) -> Array:
    """(H, W) or (H, W, C) to (height, width[, C]); uint8 stays uint8, the rest is float32."""
    v = image if image.dtype == np.uint8 else image.astype(np.float32)
    rows, columns = v.shape[:2]
    # Pillow 13 takes the vertical pass first where it removes much more; before it never did.
    vertical_first = height < rows and rows - height > 2 * (columns - width)
    for axis in (0, 1) if vertical_first else (1, 0):
        size = (height, width)[axis]
        if v.shape[axis] != size:
            v = (_exact_pass if v.dtype == np.uint8 else _float_pass)(v, axis, size)
    return v


def _exact_pass(v: Array, axis: int, size: int) -> Array:
    """uint8 to uint8. All sums are integers below 2^31, so float64 products are exact in any
    order, and a matrix product is the fastest way to them."""
    matrix = _fixed_matrix(v.shape[axis], size)
    old = v.astype(np.float64)
    if axis == 0:
        total = (matrix @ old.reshape(len(old), -1)).reshape(size, *v.shape[1:])
    elif v.ndim == 2:
        total = old @ matrix.T
    else:
        total = np.matmul(matrix, old)
    # The weights of a pixel sum to one within their rounding: 255 may be passed by a fraction.
    rounded: Array = (total + (1 << (FRACTION_BITS - 1))).astype(np.int64) >> FRACTION_BITS
    pixels: Array = np.minimum(rounded, 255).astype(np.uint8)
    return pixels


def _float_pass(v: Array, axis: int, size: int) -> Array:
    """float32 to float32, each sum in float64 from the first pixel to the last."""
    first, weights = _coefficients(v.shape[axis], size)
    along = [1] * v.ndim
    along[axis] = size
    total: Array = np.zeros(1)
    for step in range(weights.shape[1]):
        pixels = v.take(np.minimum(first + step, v.shape[axis] - 1), axis=axis)
        total = total + pixels * weights[:, step].reshape(along)
    return total.astype(np.float32)


@lru_cache(maxsize=8)
def _fixed_matrix(old: int, new: int) -> npt.NDArray[np.float64]:
    """The weights in fixed point as a matrix (new, old) of whole numbers."""
    first, weights = _coefficients(old, new)
    matrix = np.zeros((new, old))
    for step in range(weights.shape[1]):
        fixed = np.floor(weights[:, step] * (1 << FRACTION_BITS) + 0.5)
        used = fixed > 0
        matrix[np.flatnonzero(used), first[used] + step] = fixed[used]
    return matrix


@lru_cache(maxsize=64)
def _coefficients(old: int, new: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """First source index of each output pixel, and its weights (new, window)."""
    scale = old / new
    reach = max(scale, 1.0)
    centre = (np.arange(new) + 0.5) * scale
    first = np.maximum((centre - reach + 0.5).astype(np.intp), 0)
    end = np.minimum((centre + reach + 0.5).astype(np.intp), old)
    window = np.arange(int((end - first).max()))
    distance = np.abs((first[:, None] + window - centre[:, None] + 0.5) * (1.0 / reach))
    weights = np.where(window < (end - first)[:, None], np.maximum(1.0 - distance, 0.0), 0.0)
    total = np.zeros(new)
    for step in window:
        total = total + weights[:, step]
    return first, weights / total[:, None]
