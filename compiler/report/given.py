"""The rows of a compile, of which its report shows some."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.loading import Dataset
from edgemon.runtime.preprocess import InputSpec, Preprocess, image_shape, long_axes
from edgemon.runtime.untrusted import printable

Array = npt.NDArray[Any]
Kind = Literal["images", "table", "other"]

COLOURS = (1, 3, 4)  # channels that a picture may have
MOST_VALUES = 1 << 22  # of rows that are looked at, ...
FEWEST_ROWS = 16  # ... but for so many
MOST_UNNAMED = 64  # columns without names that are taken for a table, and no signal


@dataclass(frozen=True, eq=False)
class Given:
    """``fit`` and ``test``: the rows of the recordings, one for one. ``sample``: some of the test
    rows. ``shown``: may rows be shown?"""

    fit: Dataset
    test: Dataset
    sample: Dataset
    preprocess: Preprocess
    input: InputSpec
    shown: bool

    def first(self) -> Array:
        """The first rows (n, ...) of the sample, as many as are soon looked at."""
        width = max(math.prod(self.sample.shape[1:]), math.prod(self.input.shape), 1)
        most = min(len(self.sample), max(FEWEST_ROWS, MOST_VALUES // width))
        (rows,) = self.sample.take(np.arange(most)).blocks(most)
        return rows

    @property
    def needed(self) -> tuple[int, ...]:
        """The shape that an image must have for the input, after preprocessing."""
        return image_shape(self.input.shape, self.preprocess.layout_of(self.input))

    def kind(self, rows: Array) -> Kind:
        """What rows (n, ...) like these are: images where the input takes pixels, a table where it
        takes columns of numbers."""
        if self.input.takes_tokens or not len(rows):
            return "other"
        if _is_pictorial(self.needed, rows) and _is_drawable(rows.shape[1:]):
            return "images"
        width = math.prod(rows.shape[1:])
        is_flat = max(rows.shape[1:], default=1) == width and self.preprocess.resize is None
        named = self.test.features is not None
        return "table" if is_flat and (named or width <= MOST_UNNAMED) else "other"

    def columns(self, width: int) -> list[str]:
        """Names of the columns of a table."""
        names = self.test.features or [f"column {i}" for i in range(width)]
        return [printable(name) for name in names]

    def as_picture(self, row: Array) -> Array:
        """(H, W, C), C one of ``COLOURS``, of a row that is an image."""
        if self.preprocess.resize is None and len(long_axes(row.shape)) < 2:
            row = row.reshape(self.needed)
        return picture(row)


def picture(image: Array) -> Array:
    """(H, W, C) of an image with its channels last, first or missing; leading axes of length 1 are
    dropped."""
    while image.ndim > 3 and image.shape[0] == 1:
        image = image[0]
    if image.ndim == 2:
        return image[..., None]
    return image if image.shape[-1] in COLOURS else np.moveaxis(image, 0, -1)


def _is_pictorial(needed: tuple[int, ...], rows: Array) -> bool:
    if len(long_axes(needed)) < 2:
        return False
    if len(needed) == 2:
        return _are_pixels(rows)  # and no sequence
    if len(needed) != 3 or not {needed[0], needed[-1]} & {*COLOURS}:
        return False
    return min(needed[:2] if needed[-1] in COLOURS else needed[1:]) > 1


def _is_drawable(shape: tuple[int, ...]) -> bool:
    """Is a row a vector, grey, or does it have channels that can be drawn?"""
    axes = long_axes(shape)
    return len(axes) < 3 or (len(axes) == 3 and bool({axes[0], axes[-1]} & {*COLOURS}))


def _are_pixels(rows: Array) -> bool:
    finite = rows[np.isfinite(rows)]
    if not finite.size or finite.min() < 0:
        return False
    return bool(finite.max() <= 1 or (finite.max() <= 255 and (finite == np.rint(finite)).all()))
