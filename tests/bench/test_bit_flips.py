"""Flipped bits of an artifact: each is refused, caught, harmless or unnoticed, and rightly so."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.bench.bit_flips import ALL, FlipLine, count
from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.reporter import unseen

ALARM_ABOVE = 50
ROWS = [np.stack([np.arange(-128, 128), np.zeros(256), np.full(256, -5)], 1).astype(np.int8)]


def program() -> Program:
    b = Builder([Tap("logits", "int8", 3)])
    predicted = b.node("argmax", 0)
    return b.program(predicted, [Monitor("largest", b.node("max", 0), ALARM_ABOVE, 20)])


def flipped(rows: list[int]) -> dict[str, FlipLine]:
    """All bits of an artifact whose self-test has these rows."""
    own = program()
    vectors = [ROWS[0][rows]]
    tested = flat.SelfTest(tuple(vectors), reference.evaluate(own, vectors)) if rows else None
    artifact = flat.write(flat.Artifact(own, "00" * 32, {}, tested))
    return {line.part: line for line in count(artifact, np.arange(8 * len(artifact)), ROWS, unseen)}


def test_every_flip_has_one_outcome() -> None:
    lines = flipped([128 + ALARM_ABOVE])
    for line in lines.values():
        assert line.flips == line.refused + line.caught + line.harmless + line.unnoticed
    parts = [line for line in lines.values() if line.part != ALL]
    assert sum(line.flips for line in parts) == lines[ALL].flips
    assert lines["strings"].unnoticed == 0  # a name decides nothing


def test_without_a_self_test_a_threshold_moves_unnoticed() -> None:
    lines = flipped([])
    assert lines[ALL].caught == 0
    assert lines["monitors"].unnoticed > 7  # bits of two thresholds, and of the score's place


@pytest.mark.parametrize("beside", [0, 1])
def test_vectors_on_a_threshold_catch_what_moves_it(beside: int) -> None:
    edges = [128 + ALARM_ABOVE, 128 + ALARM_ABOVE + 1, 128 + 20, 128 + 21]
    assert flipped(edges)["monitors"].unnoticed == 0
    assert flipped(edges[beside:1])["monitors"].unnoticed > 0
