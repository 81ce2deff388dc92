"""The op of two vectors: whole numbers where both are codes of one grid, else floats."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon.compiler.emit import flat, onnx_emitter
from edgemon.compiler.errors import CompileError
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.quantise import quantise, quantise_scores
from edgemon.runtime.monitor import Monitor as LoadedMonitor
from edgemon.runtime.onnx import OnnxMonitor

INTEGERS = ("int8", "uint8", "int16")


def real_program(x: Tap, y: Tap, threshold: float = 1.0) -> Program:
    b = Builder([Tap("logits", "int8", 2), x, y], real=True)
    score = b.node("squared_error", 1, 2)
    return b.program(b.node("argmax", 0), [Monitor("error", score, threshold, threshold)])


def everywhere(program: Program, rows: list[Any]) -> Any:
    """Raw scores (n,), the same in all three."""
    found = reference.evaluate(program, rows).scores[0]
    loaded = LoadedMonitor(flat.write(flat.Artifact(program, flat.NO_MODEL, {})))
    for other in (loaded, OnnxMonitor(onnx_emitter.emit(program, {}))):
        assert other.evaluate(rows).scores[0].tobytes() == found.tobytes()
    return found


def ends(dtype: str, length: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Rows (3, length): one end beside the other, and random codes."""
    info = np.iinfo(dtype)
    low, high = np.full((1, length), info.min), np.full((1, length), info.max)
    codes = rng.integers(info.min, info.max, (2, 1, length), endpoint=True)
    x, y = np.concatenate([low, high, codes[0]]), np.concatenate([high, low, codes[1]])
    return x.astype(dtype), y.astype(dtype)


@pytest.mark.parametrize("length", [1, 7, 32768, 32769, 70_001])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_no_sum_of_the_largest_differences_wraps(dtype: str, length: int) -> None:
    rng = np.random.default_rng(length)
    x, y = ends(dtype, length, rng)
    taps = [Tap(name, dtype, length, 0.5, 3) for name in "xy"]
    program = quantise(real_program(*taps))
    assert program.value(program.monitors[0].score).dtype == "int64"
    found = everywhere(program, [np.zeros((3, 2), np.int8), x, y])
    exact = [
        sum((int(a) - int(b)) ** 2 for a, b in zip(*row, strict=True))
        for row in zip(x, y, strict=True)
    ]
    assert found.tolist() == exact


@given(
    st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.integers(1, 70),
    st.integers(0, 2**32 - 1),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_codes_of_any_two_types_on_one_grid_are_whole_numbers(
    first: str, second: str, length: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    taps = Tap("x", first, length, 0.25), Tap("y", second, length, 0.25)
    rows = [ends(t.dtype, length, rng)[i] for i, t in enumerate(taps)]
    program, (score,) = quantise_scores(real_program(*taps))
    raw = everywhere(program, [np.zeros((3, 2), np.int8), *rows])
    assert raw.dtype == np.int64
    wanted = np.square(taps[0].values(rows[0]) - taps[1].values(rows[1])).sum(axis=1)
    np.testing.assert_array_equal(score.real(raw), wanted)  # .25 is exact


@given(st.floats(0.001, 10), st.integers(0, 255), st.integers(1, 70), st.integers(0, 2**32 - 1))
@settings(max_examples=25, deadline=None)
def test_codes_of_two_grids_are_compared_as_floats(
    scale: float, zero: int, length: int, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    given_scale = float(np.float32(scale))
    taps = Tap("x", "int8", length, 0.25, -3), Tap("y", "uint8", length, given_scale, zero)
    rows = [ends(t.dtype, length, rng)[i] for i, t in enumerate(taps)]
    program, (score,) = quantise_scores(real_program(*taps))
    raw = everywhere(program, [np.zeros((3, 2), np.int8), *rows])
    assert raw.dtype == np.float32
    wanted = np.square(taps[0].values(rows[0]) - taps[1].values(rows[1])).sum(axis=1)
    np.testing.assert_allclose(score.real(raw), wanted, rtol=1e-4, atol=1e-3 * given_scale**2)


def test_a_threshold_between_two_whole_numbers_is_one_of_them() -> None:
    """8 differences of one code of .5: 8 * .25 = 2 exactly, which does not exceed 2."""
    taps = [Tap(name, "int8", 8, 0.5, -128) for name in "xy"]
    rows = [np.zeros((2, 2), np.int8), np.zeros((2, 8), np.int8), np.ones((2, 8), np.int8)]
    rows[2][1, 0] = 2
    program = quantise(real_program(*taps, threshold=2.0))
    assert reference.evaluate(program, rows).verdict.tolist() == [0, 2]


def test_wide_integers_whose_squares_would_wrap_are_compared_as_floats() -> None:
    b = Builder([Tap("logits", "int8", 2), Tap("x", "int16", 4)], real=True)
    entries = [np.array([-(1 << 30), 1 << 30], np.int32), np.zeros(1, np.int32)]
    wide = b.node(
        "lut", b.node("gather", 1, tables=[np.arange(2, dtype=np.uint32)]), tables=entries
    )
    score = b.node("squared_error", wide, wide)
    made = b.program(b.node("argmax", 0), [Monitor("error", score, 1, 1)])
    assert quantise(made).value(quantise(made).monitors[0].score).dtype == "float32"


def test_two_lengths_or_kinds_are_refused() -> None:
    b = Builder([Tap("x", "int8", 4), Tap("y", "int8", 3), Tap("z", "float32", 4)])
    with pytest.raises(CompileError, match="needs equal lengths"):
        b.node("squared_error", 0, 1)
    with pytest.raises(CompileError, match="two vectors of integers or two of floats"):
        b.node("squared_error", 0, 2)


def test_a_file_without_it_stays_of_the_version_before() -> None:
    taps = [Tap(name, "int8", 8) for name in "xy"]
    program = quantise(real_program(*taps))
    with_op = flat.write(flat.Artifact(program, flat.NO_MODEL, {}))
    b = Builder(program.taps)
    predicted = b.node("argmax", 0)
    other = b.program(predicted, [Monitor("class", predicted, 1, 1)])
    assert with_op[10] == flat.MINOR
    assert flat.write(flat.Artifact(other, flat.NO_MODEL, {}))[10] == flat.BEFORE
