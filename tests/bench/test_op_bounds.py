"""``edgemon op-bounds``: plain C answers as the reference does, and differences are seen."""

from __future__ import annotations

import json

import numpy as np
import pytest

from edgemon.bench.bounds import run as study
from edgemon.bench.op_programs import single_ops
from tests.command_line import edgemon, refused
from tests.runtime.c_compilers import need


@pytest.fixture(scope="module")
def lines() -> list[study.Line]:
    need("cc")
    return study.measure(rounds=1)


def test_plain_c_answers_as_the_reference_does(lines: list[study.Line]) -> None:
    assert [line for line in lines if not line.equal] == []


def test_every_op_in_the_list_has_plain_c(lines: list[study.Line]) -> None:
    have = {line.op for line in lines}
    timed = {probe.program.nodes[-1].op for probe, _ in single_ops()}
    without = {op for op in timed - have if not op.endswith("trees")}  # peers' (bench --peers)
    assert without == {"log"}  # like exp


def test_all_times_are_positive_and_bytes_are_counted(lines: list[study.Line]) -> None:
    for line in lines:
        assert min(line.ns, line.small_ns, line.plain_ns) > 0
        assert line.bytes > 0


def test_another_answer_is_seen() -> None:
    right = np.arange(64)
    assert study._agree(right, right.copy())
    assert not study._agree(right, right + (right == 3))
    floats = right.astype(np.float32)
    assert study._agree(floats, floats + np.float32(1e-4))
    assert not study._agree(floats, floats + np.float32(1))


def test_the_command_prints_a_document_and_a_table() -> None:
    need("cc")
    done = edgemon("op-bounds", "--only", "boxes", "--rounds", "1", "--json")
    assert {op["op"] for op in json.loads(done.stdout)["ops"]} == {"boxes"}
    shown = edgemon("op-bounds", "--only", "boxes of float32[8]", "--rounds", "1").stdout
    assert "boxes" in shown
    assert "equal" in shown
    assert "times as long" in " ".join(shown.split())


def test_a_missing_compiler_or_op_is_one_sentence() -> None:
    assert "no-such-cc" in refused("op-bounds", "--cc", "no-such-cc")
    assert "no op has" in refused("op-bounds", "--only", "nonsense", "--rounds", "1")
