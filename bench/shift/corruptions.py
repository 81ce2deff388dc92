"""Corruptions of small images: Hendrycks & Dietterich 2019, "Benchmarking Neural Network Robustness
to Common Corruptions and Perturbations", with the constants of its CIFAR-10-C.

Images are (n, H, W, C) in [0, 1]; so are results.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError

Floats = npt.NDArray[np.float64]
Images = npt.NDArray[np.uint8]
Generator = np.random.Generator

GAUSSIAN = (0.04, 0.06, 0.08, 0.09, 0.10)  # standard deviation of the noise
CONTRAST = (0.75, 0.5, 0.4, 0.3, 0.15)  # what is left of it
BRIGHTNESS = (0.05, 0.1, 0.15, 0.2, 0.3)  # added to the value of HSV
FOG = ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75))  # thickness, decay of detail
ROUGHNESS = 100.0  # of a fractal at its coarsest, before it is scaled to [0, 1]


def gaussian(x: Floats, severity: int, rng: Generator) -> Floats:
    """Noise of a sensor."""
    found: Floats = x + rng.normal(0, GAUSSIAN[severity - 1], x.shape)
    return found


def contrast(x: Floats, severity: int, _: Generator) -> Floats:
    """Each channel comes closer to its mean."""
    mean = x.mean(axis=(1, 2), keepdims=True)
    found: Floats = mean + (x - mean) * CONTRAST[severity - 1]
    return found


def brightness(x: Floats, severity: int, _: Generator) -> Floats:
    """A higher value in HSV: hue and saturation stay, so that all channels grow by one factor."""
    value = x.max(axis=3, keepdims=True)
    brighter = np.minimum(value + BRIGHTNESS[severity - 1], 1)
    found: Floats = np.where(value > 0, x * brighter / np.where(value > 0, value, 1), brighter)
    return found


def fog(x: Floats, severity: int, rng: Generator) -> Floats:
    """A fractal is laid over each image, whose largest value stays."""
    thickness, decay = FOG[severity - 1]
    top = x.max(axis=(1, 2, 3), keepdims=True)
    height, width = x.shape[1:3]
    haze = plasma(len(x), max(height, width), decay, rng)[:, :height, :width, None]
    found: Floats = (x + thickness * haze) * top / (top + thickness)
    return found


def plasma(count: int, size: int, decay: float, rng: Generator) -> Floats:
    """Plasma fractals in [0, 1], (count, size, size), by midpoint displacement on a torus
    (Fournier, Fussell, Carpenter 1982). At each halving of the step, displacements shrink by
    ``decay`` squared."""
    side = 1 << max(1, (size - 1).bit_length())
    found = np.zeros((count, side, side))
    step, rough = side, ROUGHNESS
    while step > 1:
        half = step // 2

        def moved(mean: Floats, reach: float = rough * rough) -> Floats:
            return mean + rng.uniform(-reach, reach, mean.shape)

        corners = found[:, ::step, ::step]
        right, below = np.roll(corners, -1, 2), np.roll(corners, -1, 1)
        found[:, half::step, half::step] = moved(
            (corners + right + below + np.roll(below, -1, 2)) / 4
        )
        centres = found[:, half::step, half::step]
        found[:, ::step, half::step] = moved(
            (corners + right + centres + np.roll(centres, 1, 1)) / 4
        )
        found[:, half::step, ::step] = moved(
            (corners + below + centres + np.roll(centres, 1, 2)) / 4
        )
        step, rough = half, rough / decay
    low, high = (f(found, axis=(1, 2), keepdims=True) for f in (np.min, np.max))
    scaled: Floats = (found - low) / (high - low)
    return scaled[:, :size, :size]


CORRUPTIONS: dict[str, Callable[[Floats, int, Generator], Floats]] = {
    "gaussian": gaussian,
    "contrast": contrast,
    "brightness": brightness,
    "fog": fog,
}


def corrupt(images: Images, name: str, severity: int, rng: Generator) -> Images:
    """uint8 images (n, H, W) or (n, H, W, C), corrupted with a severity of 1 to 5."""
    if images.dtype != np.uint8 or images.ndim not in (3, 4):
        raise BenchError(
            f"shift corrupts images of 8 bits, (N, H, W) or (N, H, W, C); these are {images.dtype} "
            f"of shape {images.shape}"
        )
    x = images.reshape(*images.shape[:3], -1) / 255
    changed = np.clip(CORRUPTIONS[name](x, severity, rng), 0, 1)
    found: Images = np.rint(255 * changed).astype(np.uint8).reshape(images.shape)
    return found
