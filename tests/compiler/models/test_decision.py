from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.ir import Tap
from edgemon.compiler.models.decision import predicted_class


def test_the_largest_score_wins_and_the_first_of_equals() -> None:
    scores = np.array([[1, 3, 3], [5, 0, 0], [-1, -1, -1]], np.int8)
    assert predicted_class(scores, Tap("o", "int8", 3, 0.1, -7)).tolist() == [1, 0, 0]
    assert predicted_class(scores[0], Tap("o", "int8", 3)) == 1


def test_one_unit_is_class_1_above_one_half_only() -> None:
    half = np.float32(0.5)
    scores = np.array([[half], [np.nextafter(half, half + 1)], [-3], [np.nan]], np.float32)
    assert predicted_class(scores, Tap("o", "float32", 1)).tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize(("scale", "zero"), [(1 / 256, -128), (float(np.float32(0.1)), -3)])
def test_codes_of_one_unit_are_compared_exactly(scale: float, zero: int) -> None:
    from fractions import Fraction

    codes = np.arange(-128, 128, dtype=np.int8)[:, None]
    exact = [Fraction(scale) * (int(c) - zero) > Fraction(1, 2) for c in codes[:, 0]]
    found = predicted_class(codes, Tap("o", "int8", 1, scale, zero))
    assert found.tolist() == [int(e) for e in exact]
