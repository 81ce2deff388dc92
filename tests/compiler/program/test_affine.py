"""Weighted sums of integer taps, wherever their zero point lies and however long they are."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.quantise import quantise_scores


@pytest.mark.parametrize("sign", ["mixed", "positive"])
@pytest.mark.parametrize(
    ("dtype", "zero_point"),
    [("int8", -128), ("int8", 0), ("int8", 127), ("uint8", 0), ("uint8", 255), ("int16", -9)],
)
@pytest.mark.parametrize("length", [1, 16, 64, 320, 1280, 20_000])
def test_a_far_zero_point_and_a_long_tap_leave_room_for_a_difference(
    dtype: str, zero_point: int, length: int, sign: str
) -> None:
    """``sub: the result could reach 2^31`` cost fusions their best signals, in silence."""
    rng = np.random.default_rng(length)
    classes = 3
    scale = 0.02 / (1 if dtype != "int16" else 128)
    tap = Tap("x", dtype, length, scale, zero_point)
    weight, bias = rng.normal(size=(classes, length)), rng.normal(size=classes)
    if sign == "positive":
        weight = np.abs(weight)
    b = Builder([tap], real=True)
    scores = b.node("affine", 0, tables=[weight.reshape(-1), bias])
    predicted = b.node("argmax", scores)
    other = b.node("max", b.node("sub", scores, b.node("max", scores)))
    program, (found,) = quantise_scores(b.program(predicted, [Monitor("m", other, 0.0, 0.0)]))
    second = b.node("gather", scores, tables=[np.array([1])])
    first = b.program(predicted, [Monitor("m", second, 0.0, 0.0)])
    device, (one,) = quantise_scores(first)
    info = np.iinfo(dtype)
    codes = rng.integers(info.min, info.max + 1, (200, length)).astype(dtype)
    codes[0], codes[1] = info.min, info.max
    reals = scale * (codes.astype(np.float64) - zero_point) @ weight.T + bias
    got = one.real(reference.evaluate(device, [codes]).scores[0])
    assert isinstance(one.scale, Fraction)
    error = np.abs(got - reals[:, 1])
    assert error.max() <= 0.01 * np.abs(reals[:, 1]).max() + 0.01 * reals[:, 1].std()
    assert len(reference.evaluate(program, [codes]).scores[0]) == 200
    assert found.scale > 0
