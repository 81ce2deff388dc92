"""Thresholds as codes: exact, on the grid, off it, and at the ends."""

from __future__ import annotations

import warnings
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.program.grids import (
    beside,
    code_at_least,
    code_at_most,
    f32_at_least,
    f32_at_most,
)
from edgemon.compiler.program.ir import Tap

scales = st.floats(2.0**-20, 1024.0, width=32)


@given(scales, st.integers(-128, 127), st.integers(-400, 400), st.booleans())
def test_all_codes_agree_with_rationals(scale: float, zero: int, code: int, on_grid: bool) -> None:
    tap = Tap("t", "int8", 1, scale, zero)
    threshold = scale * (code - zero) if on_grid else scale * (code - zero + 0.37)
    for q in range(-128, 128):
        value = Fraction(scale) * (q - zero)
        assert (q <= code_at_most(threshold, tap)) == (value <= Fraction(threshold))
        assert (q >= code_at_least(threshold, tap)) == (value >= Fraction(threshold))


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-3e38, max_value=3e38))
def test_float32_rounding_keeps_every_comparison(threshold: float) -> None:
    low, high = f32_at_most(threshold), f32_at_least(threshold)
    assert float(low) <= threshold <= float(high)
    assert float(np.nextafter(low, np.float32(np.inf))) > threshold
    assert float(np.nextafter(high, np.float32(-np.inf))) < threshold


def test_beside_steps_by_one_code_or_one_float() -> None:
    assert beside(5, "int8") == [4, 5, 6]
    assert beside(127, "int8") == [126, 127]
    assert beside(-129, "int8") == [-128]
    below, at, above = beside(1.5, "float32")
    assert below < at < above
    assert np.nextafter(below, np.float32(2)) == at


def test_beside_the_largest_float_is_an_infinity_without_a_warning() -> None:
    """Users of a model with a threshold there saw a RuntimeWarning of NumPy."""
    largest = np.finfo(np.float32).max
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        below, own, above = beside(largest, np.float32)
    assert below < own == largest
    assert np.isinf(above)
