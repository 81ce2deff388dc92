"""The camera is mounted otherwise."""

from __future__ import annotations

import scipy

from edgemon.compiler.faults.image import Floats, Generator

DEGREES = (10, 20, 30, 45, 60)


def rotation(x: Floats, severity: int, _: Generator) -> Floats:
    """Counter-clockwise about the centre, bilinear; what comes into view is black."""
    found: Floats = scipy.ndimage.rotate(
        x, DEGREES[severity - 1], axes=(1, 0), reshape=False, order=1
    )
    return found
