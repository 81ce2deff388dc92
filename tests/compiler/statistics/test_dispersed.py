"""Shares of images that are not independent."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from edgemon.compiler.statistics import dispersed
from edgemon.compiler.statistics.intervals import clopper_pearson


@pytest.mark.parametrize(("part", "whole"), [(0, 10), (10, 10), (3, 50), (17, 4000)])
def test_without_dispersion_everything_is_exact(part: int, whole: int) -> None:
    found = dispersed.interval(part, whole, 1.0, 0.95)
    assert [float(x) for x in found] == pytest.approx(clopper_pearson(part, whole), abs=1e-9)
    p = float(dispersed.above(part, whole, 1.0, 0.1))
    assert p == pytest.approx(float(binom.sf(part - 1, whole, 0.1)), rel=1e-9)


def coverage(repeat: int, adjusted: bool) -> float:
    """How often an interval holds the true share, if each image comes ``repeat`` times."""
    rng = np.random.default_rng(0)
    share, windows, size = 0.1, 100, 100
    hits = repeat * rng.binomial(size // repeat, share, (2000, windows))
    part, squares = hits.sum(axis=1), (hits**2 / size).sum(axis=1)
    phi = dispersed.dispersion(part, windows * size, windows, squares) if adjusted else 1.0
    low, high = dispersed.interval(part, windows * size, phi, 0.95)
    return float(np.mean((low <= share) & (share <= high)))


def test_frames_that_repeat_widen_intervals_as_much_as_they_must() -> None:
    assert coverage(1, adjusted=True) > 0.94
    assert coverage(10, adjusted=False) < 0.6  # what would be claimed without it
    assert coverage(10, adjusted=True) > 0.92


def test_few_windows_and_shares_of_0_and_1_tell_no_dispersion() -> None:
    assert dispersed.dispersion(50, 1000, 9, 80.0) == 1.0
    assert dispersed.dispersion(0, 1000, 20, 0.0) == 1.0
    assert dispersed.dispersion(1000, 1000, 20, 1000.0) == 1.0
    assert dispersed.dispersion(0, 0, 0, 0.0) == 1.0
