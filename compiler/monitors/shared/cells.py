"""An image as the means of its cells: a few features that say where something is."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgemon.compiler.models.model import Model
from edgemon.compiler.models.positions import Image, image_of
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import BLOCK_ELEMENTS, Recording

Floats = npt.NDArray[np.float64]

CELLS = range(8, 3, -1)  # a side, into which an image may be divided: the most that divides it


def image_in_cells(model: Model) -> Image | None:
    """The model's input, if it is an image that divides into cells."""
    image = image_of(model)
    divides = image is not None and all(any(s % n == 0 for n in CELLS) for s in image[1:3])
    return image if divides else None


def cells_width(recording: Recording, image: Image) -> int:
    """How many means there are."""
    name, rows, columns, _ = image
    return recording.tap(name).length // (_cell(rows) * _cell(columns))


def cells_values(recording: Recording, image: Image) -> Floats:
    """(n, width): same as ``cells``; images are read some rows at a time."""
    name, rows, columns, beside = image
    down, across = _cell(rows), _cell(columns)
    found = np.empty((len(recording), cells_width(recording, image)))
    step = max(1, BLOCK_ELEMENTS // recording.tap(name).length)
    for start in range(0, len(found), step):
        x = recording.values(name, np.arange(start, min(start + step, len(found))))
        whole = x.reshape(len(x), -1, down, columns // across, across, beside)
        found[start : start + step] = whole.mean(axis=(2, 4)).reshape(len(x), -1)
    return found


def cells(builder: Builder, image: Image) -> int:
    """Value id of the means of the image's cells."""
    name, rows, columns, beside = image
    x = builder.tap(name)
    for channels, positions in ((columns * beside, _cell(rows)), (beside, _cell(columns))):
        x = builder.node("reduce", x, tables=[np.array([channels, positions], np.uint32)])
    return x


def _cell(side: int) -> int:
    """Pixels along a cell."""
    return side // next(n for n in CELLS if side % n == 0)
