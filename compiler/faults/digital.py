"""Exposure, colour, scaling and compression."""

from __future__ import annotations

from io import BytesIO
from typing import Literal

import numpy as np
import scipy
from PIL import Image

from edgemon.compiler.faults.image import Floats, Generator, from_picture, picture, smooth

BRIGHTNESS = (0.05, 0.1, 0.15, 0.2, 0.3)  # added to the value of HSV
CONTRAST = (0.75, 0.5, 0.4, 0.3, 0.15)  # what is left of it
SATURATE = ((0.3, 0), (0.1, 0), (1.5, 0), (2, 0.1), (2.5, 0.2))  # of HSV: factor, then added
PIXELATE = (0.95, 0.9, 0.85, 0.75, 0.65)  # of the side
JPEG = (80, 65, 58, 50, 40)  # quality
# Each as a share of the side: reach of the waves, their sigma, reach of the affine corners.
ELASTIC = (
    (0, 0, 0.08),
    (0.05, 0.2, 0.07),
    (0.08, 0.06, 0.06),
    (0.1, 0.04, 0.05),
    (0.1, 0.03, 0.03),
)


def brightness(x: Floats, severity: int, _: Generator) -> Floats:
    """A higher value in HSV: hue and saturation stay, so that all channels grow by one factor."""
    value = x.max(axis=2, keepdims=True)
    brighter = np.minimum(value + BRIGHTNESS[severity - 1], 1)
    found: Floats = np.where(value > 0, x * brighter / np.where(value > 0, value, 1), brighter)
    return found


def contrast(x: Floats, severity: int, _: Generator) -> Floats:
    """Each channel comes closer to its mean."""
    mean = x.mean(axis=(0, 1), keepdims=True)
    found: Floats = mean + (x - mean) * CONTRAST[severity - 1]
    return found


def saturate(x: Floats, severity: int, _: Generator) -> Floats:
    """Another saturation in HSV: hue and value stay. A grey pixel has the hue of red."""
    factor, added = SATURATE[severity - 1]
    value, least = x.max(axis=2, keepdims=True), x.min(axis=2, keepdims=True)
    spread = value - least
    grey = spread == 0
    below = np.where(grey, np.array([0.0, 1, 1]), (value - x) / np.where(grey, 1, spread))
    saturation = np.where(value > 0, spread / np.where(value > 0, value, 1), 0)
    found: Floats = value * (1 - np.clip(factor * saturation + added, 0, 1) * below)
    return found


def pixelate(x: Floats, severity: int, _: Generator) -> Floats:
    """Scaled down and up again, by means of boxes."""
    height, width = x.shape[:2]
    share = PIXELATE[severity - 1]
    small = (max(1, int(width * share)), max(1, int(height * share)))
    box = Image.Resampling.BOX
    return from_picture(picture(x).resize(small, box).resize((width, height), box))


def jpeg(x: Floats, severity: int, _: Generator) -> Floats:
    """Compressed by Pillow, colours at half the resolution."""
    file = BytesIO()
    picture(x).save(file, "JPEG", quality=JPEG[severity - 1])
    return from_picture(Image.open(file))


def elastic(x: Floats, severity: int, rng: Generator) -> Floats:
    """Three corners of a square are moved at random, and the image waves."""
    height, width = x.shape[:2]
    side = min(height, width)
    reach, sigma, corner = (side * share for share in ELASTIC[severity - 1])
    moved = _affine(x, corner, rng)
    down, across = _places(height, width)
    waves = [reach * smooth(rng.uniform(-1, 1, (height, width)), sigma, "reflect", 3)
             for _ in range(2)]  # fmt: skip
    return _sampled(moved, down + waves[0], across + waves[1], "reflect")


def _affine(x: Floats, reach: float, rng: Generator) -> Floats:
    height, width = x.shape[:2]
    centre, third = np.array([height // 2, width // 2]), min(height, width) // 3
    before = np.array([centre + third, [centre[0] + third, centre[1] - third], centre - third])
    after = before + rng.uniform(-reach, reach, before.shape)
    back = np.linalg.solve(np.column_stack([after, np.ones(3)]), before)  # (x, y, 1) -> (x, y)
    down, across = _places(height, width)
    source = np.stack([across, down, np.ones_like(down)], axis=-1) @ back
    return _sampled(x, source[..., 1], source[..., 0], "mirror")


def _places(height: int, width: int) -> tuple[Floats, Floats]:
    """(H, W) each: the row and the column of each pixel."""
    down, across = np.indices((height, width), np.float64)
    return down, across


def _sampled(x: Floats, down: Floats, across: Floats, mode: Literal["reflect", "mirror"]) -> Floats:
    """Bilinear, at these places of each channel."""
    found: Floats = np.stack(
        [scipy.ndimage.map_coordinates(channel, np.stack([down, across]), order=1, mode=mode)
         for channel in np.moveaxis(x, 2, 0)], axis=2,
    )  # fmt: skip
    return found
