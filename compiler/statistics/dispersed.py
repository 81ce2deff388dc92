"""Shares of windows of images that may not be independent, as frames of a video are not: windows
of one source then differ more than by chance, and intervals must be wider.

The variance of the count is taken as phi times that of a binomial one (McCullagh and Nelder 1989,
section 4.5), phi estimated from the windows and never below 1; then n images count as n / phi.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import beta

Floats = npt.NDArray[np.float64]
Numbers = npt.ArrayLike

LEAST_WINDOWS = 10  # for an estimate of phi; with fewer it is 1


def dispersion(part: Numbers, whole: Numbers, windows: Numbers, squares: Numbers) -> Floats:
    """phi, from sums over windows of counts and of count^2 / images."""
    k, n, w, q = (np.asarray(x, np.float64) for x in (part, whole, windows, squares))
    with np.errstate(all="ignore"):
        variance = k * (1 - k / n) / n * (w - 1)
        phi = (q - k * k / n) / variance
    return np.where((w >= LEAST_WINDOWS) & (k > 0) & (k < n), np.fmax(phi, 1.0), 1.0)


def interval(part: Numbers, whole: Numbers, phi: Numbers, confidence: float) -> tuple[Any, Any]:
    """Of shares; Clopper-Pearson where phi is 1. 0 and 1 of nothing."""
    k, n = (np.asarray(x, np.float64) / np.asarray(phi) for x in (part, whole))
    tail = (1 - confidence) / 2
    with np.errstate(all="ignore"):
        low = np.where(k > 0, beta.ppf(tail, k, n - k + 1), 0.0)
        high = np.where(k < n, beta.ppf(1 - tail, k + 1, n - k), 1.0)
    return low, high


def above(part: Numbers, whole: Numbers, phi: Numbers, limit: float) -> Floats:
    """Probability of so many or more if the share is ``limit``; exact where phi is 1."""
    k, n = (np.asarray(x, np.float64) / np.asarray(phi) for x in (part, whole))
    with np.errstate(all="ignore"):
        return np.where(k > 0, beta.cdf(limit, k, n - k + 1), 1.0)
