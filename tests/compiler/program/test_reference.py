"""The reference's float functions against the real ones, and the halving sum's laws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edgemon.compiler.program import reference


def test_exp_is_accurate_over_its_whole_range() -> None:
    x = np.linspace(-86, 86, 2_000_001).astype(np.float32)
    exact = np.exp(x.astype(np.float64))
    assert (np.abs(reference.exp_f32(x) / exact - 1)).max() < 3e-7


def test_exp_is_clamped_and_exact_at_zero() -> None:
    x = np.array([-np.inf, -1e30, -86, 0, -0.0], np.float32)
    found = reference.exp_f32(x)
    assert (found[:3] == found[2]).all()
    assert (found[3:] == 1).all()


def test_log_is_accurate() -> None:
    x = np.exp(np.linspace(-87, 88, 1_000_001)).astype(np.float32)
    exact = np.log(x.astype(np.float64))
    assert np.abs(reference.log_f32(x) - exact).max() < 1e-5
    near = np.linspace(1, 64, 100_001).astype(np.float32)
    assert np.abs(reference.log_f32(near) - np.log(near.astype(np.float64))).max() < 6e-7
    assert reference.log_f32(np.array([1], np.float32))[0] == 0


@given(st.integers(1, 70), st.data())
def test_halving_sum_is_order_fixed_and_close(n: int, data: st.DataObject) -> None:
    x = data.draw(arrays(np.float32, (1, n), elements=st.floats(-1000, 1000, width=32)))
    found = reference.halving_sum(x)
    assert found.shape == (1, 1)
    assert found[0, 0] == pytest.approx(float(x.astype(np.float64).sum()), rel=1e-4, abs=1e-1)
    # Zeros behind the vector change nothing: that is what the padding relies on.
    assert reference.halving_sum(np.pad(x, ((0, 0), (0, 3))))[0, 0] == pytest.approx(
        found[0, 0], rel=1e-4, abs=1e-1
    )
