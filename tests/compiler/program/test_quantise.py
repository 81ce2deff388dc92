"""Comparisons on integer activations are exact: on the grid, off it, and at the ends."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st

from edgemon.compiler.emit import flat, onnx_emitter
from edgemon.compiler.program import reference
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.quantise import (
    quantise,
)
from edgemon.runtime.monitor import Monitor as CMonitor
from edgemon.runtime.onnx import OnnxMonitor

scales = st.floats(2.0**-20, 1024.0, width=32)


def stump(threshold: float, tap: Tap) -> Program:
    """Alarms iff the tap's single element is above the threshold."""
    forest = Forest(
        np.array([0, 0, 0]), np.array([threshold, np.inf, np.inf]), np.array([1, 1, 2]),
        np.array([0.0, 0.0, 1.0]), (0,), (1,),
    )  # fmt: skip
    b = Builder([tap], real=True)
    score = b.node("trees", 0, tables=forest.pack("float64"))
    return quantise(b.program(b.node("argmax", 0), [Monitor("stump", score, 0.5, 0.5)]))


def everywhere(program: Program, x: Any) -> list[list[int]]:
    """Verdicts above trust through reference, C and ONNX."""
    artifact = flat.write(flat.Artifact(program, "00" * 32, {}))
    onnx = OnnxMonitor(onnx_emitter.emit(program, {}))
    found = (reference.evaluate(program, [x]), CMonitor(artifact).evaluate([x]), onnx.evaluate([x]))
    return [(e.verdict // 2).tolist() for e in found]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "float32"])
def test_threshold_between_integers_is_not_truncated(dtype: str) -> None:
    x = np.array([[0], [1], [2], [3]], dtype)
    assert everywhere(stump(1.5, Tap("x", dtype, 1)), x) == [[0, 0, 1, 1]] * 3


@pytest.mark.parametrize("zero", [-128, -7, 0, 24, 127])
@pytest.mark.parametrize("scale", [1.0, float(np.float32(0.1)), float(np.float32(0.17185351))])
def test_thresholds_on_the_grid_and_at_saturated_ends(zero: int, scale: float) -> None:
    x = np.arange(-128, 128, dtype=np.int8)[:, None]
    tap = Tap("x", "int8", 1, scale, zero)
    for code in (-400, -129, -128, -127, -1, 0, 1, 126, 127, 128, 400):
        threshold = scale * (code - zero)
        expected = [
            int(Fraction(scale) * (q - zero) > Fraction(threshold)) for q in range(-128, 128)
        ]
        assert everywhere(stump(threshold, tap), x) == [expected] * 3


def test_float_thresholds_round_down() -> None:
    """0.1 is no float32: the float32 just below and above it must go to different sides."""
    near = np.float32(0.1)
    x = np.array([[np.nextafter(near, np.float32(0))], [near]], np.float32)
    expected = [int(float(v) > 0.1) for v in x[:, 0]]
    assert everywhere(stump(0.1, Tap("x", "float32", 1)), x) == [expected] * 3


def test_a_box_between_two_codes_is_dropped() -> None:
    """It can hold no activation; the class is then without a box and always alarms."""
    b = Builder([Tap("x", "int8", 2)], real=True)
    half = np.array([0.25, 0.25])
    score = b.node(
        "boxes", 0, b.node("argmax", 0), tables=[half, half + 0.5, np.ones(2), np.array([0, 1, 1])]
    )
    program = quantise(b.program(b.node("argmax", 0), [Monitor("box", score, 0.0, 0.0)]))
    assert program.nodes[1].tables[3].tolist() == [0, 0, 0]
    assert everywhere(program, np.zeros((1, 2), np.int8)) == [[1]] * 3
