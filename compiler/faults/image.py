"""One image as faults see it, and the filters that several of them need."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt
import scipy
from PIL import Image as Pillow

Floats = npt.NDArray[np.float64]  # (H, W, C) in [0, 1]
Bytes = npt.NDArray[np.uint8]
Generator = np.random.Generator
Make = Callable[[Floats, int, Generator], Floats]  # image, severity from 1, draws; clipped after

GREY = np.array([0.299, 0.587, 0.114])  # of red, green and blue, as BT.601 says


def luminance(x: Floats) -> Floats:
    """(H, W): the grey of an image; the mean of its channels where these are not three."""
    grey: Floats = x @ GREY if x.shape[2] == 3 else x.mean(axis=2)
    return grey


def tinted(color: tuple[int, int, int], channels: int) -> Floats:
    """(C,): a color in bytes for an image of so many channels; its grey where not three."""
    whole = np.array(color) / 255
    return whole if channels == 3 else np.full(channels, whole @ GREY)


def smooth(
    x: Floats, sigma: float, mode: Literal["nearest", "reflect"] = "nearest", truncate: float = 4.0
) -> Floats:
    """Gaussian blur of the first two axes; sigma in pixels, 0 blurs nothing."""
    sigmas = (sigma, sigma, *[0] * (x.ndim - 2))
    found: Floats = scipy.ndimage.gaussian_filter(x, sigmas, mode=mode, truncate=truncate)
    return found


def zoomed(x: Floats, factor: float) -> Floats:
    """The centre of x (H, W, ...), enlarged to the size of x, bilinear."""
    cut = []
    for n in x.shape[:2]:
        kept = int(np.ceil(n / factor))
        cut.append(slice((n - kept) // 2, (n - kept) // 2 + kept))
    large = scipy.ndimage.zoom(x[tuple(cut)], (factor, factor, *[1] * (x.ndim - 2)), order=1)
    starts = [(a - b) // 2 for a, b in zip(large.shape, x.shape[:2], strict=False)]
    found: Floats = large[tuple(slice(s, s + n) for s, n in zip(starts, x.shape, strict=False))]
    return found


def streaked(x: Floats, radius: int, sigma: float, angle: float) -> Floats:
    """Motion blur as ImageMagick computes it: shifted copies along a direction (degrees), of
    weights that fall as half a bell; pixels of the border repeat."""
    width = 2 * radius + 1
    steps = np.arange(width)
    weights = np.exp(-(steps**2) / (2 * sigma**2))
    weights /= weights.sum()
    across, down = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
    rows, columns = np.arange(x.shape[0]), np.arange(x.shape[1])
    found = np.zeros_like(x)
    for step, weight in zip(steps, weights, strict=True):
        i = np.clip(rows + int(np.ceil(step * down - 0.5)), 0, len(rows) - 1)
        j = np.clip(columns + int(np.ceil(step * across - 0.5)), 0, len(columns) - 1)
        found += weight * x[i[:, None], j]
    return found


def to_bytes(x: Floats) -> Bytes:
    """[0, 1] as bytes, to the nearest."""
    return np.rint(255 * np.clip(x, 0, 1)).astype(np.uint8)


def picture(x: Floats) -> Pillow.Image:
    """An image of one or three channels for Pillow."""
    return Pillow.fromarray(to_bytes(x)[..., 0] if x.shape[2] == 1 else to_bytes(x))


def from_picture(image: Pillow.Image) -> Floats:
    """The inverse of ``picture``."""
    x = np.asarray(image) / 255
    return x[..., None] if x.ndim == 2 else x
