"""What would bring an artifact under a limit: the changes do, when they are made."""

from __future__ import annotations

import numpy as np

from edgemon.compiler.cost import cheaper
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap

BOXES, LENGTH = 12, 50


def program(boxes: int = BOXES, *, names: tuple[str, ...] = ("box", "sum")) -> Program:
    """Boxes of one class, and a sum."""
    b = Builder([Tap("x", "int8", LENGTH, 0.1)])
    predicted = b.node("argmax", 0)
    upper = np.ones(boxes * LENGTH, np.int8)
    first = np.minimum(np.arange(LENGTH + 1), 1).astype(np.uint32) * np.uint32(boxes)
    weight = np.ones(LENGTH, np.int32)
    scores = [
        b.node("boxes", 0, predicted, tables=[-upper, upper, weight, first]),
        b.node("max", 0),
    ]
    monitors = [Monitor(n, s, 5, 5) for n, s in zip(names, scores, strict=True)]
    return b.program(predicted, monitors)


def test_fewer_boxes_save_what_is_said() -> None:
    whole = cheaper.artifact_bytes(program())
    over = 3 * 2 * LENGTH - 7.0
    changes = cheaper.of_bytes(program(), over, whole)
    assert changes[0].startswith(f"3 of {BOXES} boxes fewer (-{3 * 2 * LENGTH}")
    assert cheaper.artifact_bytes(program(BOXES - 3)) <= whole - over + 16  # tables end at 16


def test_leaving_out_a_monitor_saves_what_is_said() -> None:
    whole = cheaper.artifact_bytes(program())
    (change,) = cheaper.by_monitors(program(), cheaper.artifact_bytes, 500)
    assert change.what == "leave out box"
    assert change.saves == whole - cheaper.artifact_bytes(program().only("sum"))


def test_no_change_is_named_that_is_not_enough() -> None:
    assert cheaper.by_monitors(program(), cheaper.artifact_bytes, 1e6) == []
    assert cheaper.of_bytes(program(), 1e6, 2_000_000) == ("compile again with --budget-kb 976.6",)
    assert cheaper.of_bytes(program(), 1e6, 1_000_100) == ()


def test_of_an_only_fusion_a_signal_can_take_the_place() -> None:
    fusion = program(names=("errors", "errors.box"))
    assert list(cheaper.smaller(fusion)) == ["compile again with --monitor box alone"]
