"""Least squares without negative unknowns, on devices, which lack SciPy.

The active set method of C. L. Lawson and R. J. Hanson, Solving Least Squares Problems, 1974,
chapter 23.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-12  # of a gradient and an unknown, relative to the largest


def least_squares(a: Floats, b: Floats) -> Floats:
    """x >= 0 (n,) that minimises |a x - b|, of a (m, n) and b (m,)."""
    x = np.zeros(a.shape[1])
    free = np.zeros(len(x), bool)
    least = TOLERANCE * float(np.abs(a.T @ b).max(initial=0))
    while not free.all():
        descent = np.where(free, -np.inf, a.T @ (b - a @ x))
        if descent.max() <= least:
            break
        free[descent.argmax()] = True
        x = _within(a, b, x, free)
    return x


def _within(a: Floats, b: Floats, x: Floats, free: npt.NDArray[np.bool_]) -> Floats:
    """The best of the free unknowns; those that it would make negative stop at 0, and are free no
    more: ``free`` is changed."""
    while True:
        best = np.zeros(len(x))
        best[free] = np.linalg.lstsq(a[:, free], b, rcond=None)[0]
        below = free & (best <= 0)
        if not below.any():
            return best
        step = (x[below] / (x[below] - best[below])).min()
        x = x + step * (best - x)
        free &= x > TOLERANCE * x.max()
        x = np.where(free, x, 0)
