"""The camera is mounted otherwise."""

from __future__ import annotations

import numpy as np
import scipy

from edgemon.compiler.faults.image import Floats, Generator

DEGREES = (10, 20, 30, 45, 60)
# The most by which a moved image differs, either way.
MOVED_BY, SCALED_BY, TURNED_BY = 1 / 16, 0.12, 8.0  # of a side; of the size; degrees


def rotation(x: Floats, severity: int, _: Generator) -> Floats:
    """Counter-clockwise about the centre, bilinear; what comes into view is black."""
    found: Floats = scipy.ndimage.rotate(
        x, DEGREES[severity - 1], axes=(1, 0), reshape=False, order=1
    )
    return found


def moved(x: Floats, draws: Generator) -> Floats:
    """An image (H, W[, C]) shifted, scaled and turned by a little, bilinear; pixels of the border
    repeat."""
    angle = np.deg2rad(draws.uniform(-TURNED_BY, TURNED_BY))
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    turn *= 1 + draws.uniform(-SCALED_BY, SCALED_BY)
    sides = np.array(x.shape[:2])
    centre = (sides - 1) / 2
    offset = centre - turn @ centre + draws.uniform(-MOVED_BY, MOVED_BY, 2) * sides
    channels = [
        scipy.ndimage.affine_transform(channel, turn, offset, order=1, mode="nearest")
        for channel in np.moveaxis(np.atleast_3d(x), 2, 0)
    ]
    return np.stack(channels, axis=-1).reshape(x.shape)
