"""Least squares on devices: what SciPy finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from edgemon.bench.nonnegative import least_squares


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(0, 20))
def test_as_scipy(seed: int, unknowns: int, more: int) -> None:
    rng = np.random.default_rng(seed)
    a = rng.random((unknowns + more, unknowns)) * (rng.random(unknowns) < 0.9)
    b = a @ rng.normal(size=unknowns) + 0.1 * rng.normal(size=len(a))
    found, wanted = least_squares(a, b), nnls(a, b)[0]
    assert (found >= 0).all()
    off = float(np.linalg.norm(a @ found - b)) - float(np.linalg.norm(a @ wanted - b))
    assert abs(off) < 1e-9 * max(1.0, float(np.linalg.norm(b)))


def test_a_repeated_column_ends() -> None:
    a = np.ones((4, 3))
    assert np.isclose(least_squares(a, np.full(4, 2.0)).sum(), 2)
    assert least_squares(a, np.full(4, -2.0)).tolist() == [0, 0, 0]
