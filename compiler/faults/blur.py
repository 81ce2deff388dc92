"""Blur of optics and motion. Radii are in pixels of the image, whatever its size."""

from __future__ import annotations

import numpy as np
import scipy

from edgemon.compiler.faults.image import Floats, Generator, smooth, streaked, zoomed

DEFOCUS = ((0.3, 0.4), (0.4, 0.5), (0.5, 0.6), (1, 0.2), (1.5, 0.1))  # radius, blur of its edge
GLASS = ((0.05, 1, 1), (0.25, 1, 1), (0.4, 1, 1), (0.25, 1, 2), (0.4, 1, 2))  # sigma, reach, times
MOTION = ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5))  # radius, sigma
ZOOM = (1.06, 1.11, 1.16, 1.21, 1.26)  # end of the zoom, in steps of .01 from 1
GAUSSIAN = (0.4, 0.6, 0.7, 0.8, 1)  # sigma
LARGEST = 8  # radius that the disk's kernel holds


def defocus(x: Floats, severity: int, _: Generator) -> Floats:
    """Each point becomes a disk, whose edge is blurred."""
    radius, edge = DEFOCUS[severity - 1]
    found: Floats = scipy.ndimage.correlate(x, disk(radius, edge)[:, :, None], mode="mirror")
    return found


def disk(radius: float, edge: float) -> Floats:
    """(17, 17), of sum 1 but for what the blur of 3 x 3 pixels carries over the border."""
    at = np.arange(-LARGEST, LARGEST + 1)
    inside = (at[:, None] ** 2 + at**2 <= radius**2).astype(np.float64)
    bell = np.exp(-(np.arange(-1, 2) ** 2) / (2 * edge**2))
    bell /= bell.sum()
    found: Floats = scipy.ndimage.correlate(
        inside / inside.sum(), np.outer(bell, bell), mode="mirror"
    )
    return found


def glass(x: Floats, severity: int, rng: Generator) -> Floats:
    """Each inner pixel takes the value of a near one above or to the left, between two blurs.

    The paper says that pixels change places; what CIFAR-10-C holds is this, since its program
    exchanges views of one array."""
    sigma, reach, times = GLASS[severity - 1]
    found = np.floor(255 * smooth(x, sigma)) / 255
    rows, columns = (np.arange(reach + 1, n) for n in x.shape[:2])
    for _ in range(times):
        down, across = rng.integers(-reach, reach, (2, len(rows), len(columns)))
        found[rows[:, None], columns] = found[rows[:, None] + down, columns + across]
    return smooth(found, sigma)


def motion(x: Floats, severity: int, rng: Generator) -> Floats:
    """The camera moves, within 45 degrees of the horizontal."""
    radius, sigma = MOTION[severity - 1]
    return streaked(x, int(radius), sigma, rng.uniform(-45, 45))


def zoom(x: Floats, severity: int, _: Generator) -> Floats:
    """The camera approaches while the shutter is open."""
    factors = np.arange(1, ZOOM[severity - 1], 0.01)
    found: Floats = (x + sum(zoomed(x, f) for f in factors)) / (len(factors) + 1)
    return found


def gaussian(x: Floats, severity: int, _: Generator) -> Floats:
    """A bell for each point."""
    return smooth(x, GAUSSIAN[severity - 1])
