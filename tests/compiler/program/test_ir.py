"""The builder refuses what has no meaning, and says why."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.ops.tables import width


@pytest.fixture
def builder() -> Builder:
    return Builder([Tap("logits", "int8", 10), Tap("features", "float32", 4)])


def test_equal_nodes_are_shared(builder: Builder) -> None:
    assert builder.node("max", 0) == builder.node("max", 0)
    assert len(builder.nodes) == 1


def test_types_that_do_not_fit_are_refused(builder: Builder) -> None:
    largest = builder.node("max", 0)
    with pytest.raises(CompileError, match=r"sub\(float32\[4\], int32\[1\]\): needs two integers"):
        builder.node("sub", 1, largest)
    with pytest.raises(CompileError, match="equal length"):
        builder.node("add", largest, builder.node("sub", 0, largest))


def test_inputs_and_tables_are_those_of_the_row(builder: Builder) -> None:
    entries, base = np.zeros(3, np.int32), np.zeros(1, np.int32)
    largest = builder.node("max", 0)
    with pytest.raises(CompileError, match=r"needs 1 input\(s\)"):
        builder.node("max", 0, 0)
    with pytest.raises(CompileError, match=r"needs 2 table\(s\)"):
        builder.node("lut", largest, tables=[entries])
    with pytest.raises(CompileError, match="`base` must be int32, and is int64"):
        builder.node("lut", largest, tables=[entries, base.astype(np.int64)])
    with pytest.raises(CompileError, match="`upper` must be int32, and is float32"):
        builder.node("clip", 0, tables=[np.zeros(1, np.float32)])
    with pytest.raises(CompileError, match="`upper` must be float32, and is int32"):
        builder.node("clip", 1, tables=[base])


def test_an_overflow_is_refused(builder: Builder) -> None:
    entries = np.array([0, 2**31 - 1], np.int32)
    with pytest.raises(CompileError, match="more than int32 holds"):
        builder.node("lut", builder.node("max", 0), tables=[entries, np.array([0], np.int32)])


def test_boxes_must_be_ordered_and_owned(builder: Builder) -> None:
    predicted = builder.node("argmax", 0)
    one = np.ones(4, np.float32)
    first = np.array([0] + [1] * 10, np.uint32)
    builder.node("boxes", 1, predicted, tables=[-one, one, one, first])
    with pytest.raises(CompileError, match="lower bound exceeds"):
        builder.node("boxes", 1, predicted, tables=[one, -one, one, first])
    with pytest.raises(CompileError, match="weights must be positive"):
        builder.node("boxes", 1, predicted, tables=[-one, one, 0 * one, first])
    with pytest.raises(CompileError, match="one entry a class"):
        builder.node("boxes", 1, predicted, tables=[-one, one, one, first[:5]])


def test_a_monitor_needs_one_number_and_ordered_thresholds(builder: Builder) -> None:
    predicted = builder.node("argmax", 0)
    score = builder.node("max", 0)
    with pytest.raises(CompileError, match="one number"):
        builder.program(predicted, [Monitor("m", builder.node("sub", 0, score), 0, 0)])
    with pytest.raises(CompileError, match="uncertain_above exceeds"):
        builder.program(predicted, [Monitor("m", score, 0, 1)])
    with pytest.raises(CompileError, match="argmax"):
        builder.program(score, [Monitor("m", score, 0, 0)])


def test_only_keeps_what_a_monitor_uses(builder: Builder) -> None:
    predicted = builder.node("argmax", 0)
    program = builder.program(
        predicted,
        [
            Monitor("a", builder.node("max", 0), 0, 0),
            Monitor("b", builder.node("max", 1), 0.0, 0.0),
        ],
    )
    assert [t.name for t in program.only("a").taps] == ["logits"]
    assert len(program.only("a").nodes) == 2
    assert [t.name for t in program.only("b").taps] == ["logits", "features"]


def test_trimmed_keeps_what_any_monitor_or_the_answer_uses() -> None:
    b = Builder([Tap(n, "int8", 4) for n in ("unread", "answer", "layer")])
    predicted = b.node("argmax", 1)
    b.node("sub", 0, b.node("max", 0))
    layer = b.node("max", 2)
    monitors = [Monitor("a", layer, 3, 1), Monitor("b", predicted, 2, 2)]
    program = b.program(predicted, monitors).trimmed()
    assert [t.name for t in program.taps] == ["answer", "layer"]
    assert [(n.op, n.inputs) for n in program.nodes] == [("argmax", (0,)), ("max", (1,))]
    assert program.predicted == 2
    assert [(m.name, m.score, m.alarm_above) for m in program.monitors] == [
        ("a", 3, 3),
        ("b", 2, 2),
    ]


def test_tap_names_are_unique() -> None:
    with pytest.raises(CompileError, match="same name"):
        Builder([Tap("x", "int8", 1), Tap("x", "int8", 2)])


@pytest.mark.parametrize(
    ("n", "bits"), [(0, 0), (1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (2**30, 30)]
)
def test_width(n: int, bits: int) -> None:
    assert width(n) == bits


def test_more_monitors_than_an_artifact_holds_are_refused() -> None:
    builder = Builder([Tap("t", "int8", 3)])
    predicted = builder.node("argmax", 0)
    many = [Monitor(str(i), builder.node("max", 0), 0, 0) for i in range(33)]
    with pytest.raises(CompileError, match="33 monitors, signals of fusions included"):
        builder.program(predicted, many)
    assert len(builder.program(predicted, many[:32]).monitors) == 32


def test_omit_takes_no_exceeds_node() -> None:
    b = Builder([Tap("x", "float32", 2), Tap("unit", "float32", 1)])
    one = b.node("exceeds", 1, tables=[np.zeros(1, np.float32)])
    with pytest.raises(CompileError, match="must be the argmax"):
        b.node("omit", 0, one)
    assert b.node("omit", 0, b.node("argmax", 0))
