"""A gradient against finite differences of what it is the gradient of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt


def require_gradient(
    found: npt.NDArray[Any], forward: Callable[[npt.NDArray[np.float32]], float],
    x: npt.NDArray[np.float32], step: float,
    tolerance: float,
) -> None:  # fmt: skip
    """Raises unless the gradient (n,) is that of central differences of ``forward`` at ``x``,
    wherever the differences to both sides agree: between others lies a kink, where there is no
    gradient to compare. These must be few. ``tolerance``: of the largest difference."""
    here = forward(x)
    ahead, behind = np.empty(x.size), np.empty(x.size)
    for side, sign in ((ahead, 1), (behind, -1)):
        for at in range(x.size):
            moved = x.copy()
            moved.flat[at] += np.float32(sign * step)
            side[at] = sign * (forward(moved) - here) / step
    central = (ahead + behind) / 2
    close = tolerance * np.abs(central).max()
    smooth = np.abs(ahead - behind) < close
    assert smooth.mean() > 0.9
    assert np.abs(found - central)[smooth].max() < close
    assert np.abs(found).max() > 0
