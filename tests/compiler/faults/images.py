"""Images for tests of faults."""

from __future__ import annotations

import numpy as np


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def image(size: int = 64, channels: int = 3) -> np.ndarray:
    """Away from black and white, so that nothing is clipped."""
    found: np.ndarray = rng(7).uniform(0.25, 0.75, (size, size, channels))
    return found


def spot(size: int = 33) -> np.ndarray:
    """White in the middle, black elsewhere."""
    found = np.zeros((size, size, 1))
    found[size // 2, size // 2] = 1
    return found
