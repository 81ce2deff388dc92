"""``edgemon op-bounds --target``: instructions of each op on a target's emulator."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from edgemon import targets
from edgemon.bench.bounds import on_target
from edgemon.bench.errors import BenchError
from edgemon.bench.op_programs import single_ops
from edgemon.targets import Target
from tests.command_line import edgemon, refused
from tests.runtime.c_compilers import need

TARGET = "cortex-m4f"


def test_the_command_prints_a_document_and_a_table_with_the_same_counts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for tool in ("arm-none-eabi-gcc", "qemu-system-arm", "cc"):
        need(tool)
    command = "op-bounds", "--target", TARGET, "--only", "gather of int8"
    found = json.loads(edgemon(*command, "--json").stdout)
    assert {op["op"] for op in found["ops"]} == {"gather"}
    assert list(found["flash"]) == ["-Os", "-Os -DEDGEMON_SMALL=0", "-O2", "-O3"]
    assert found["flash"]["-Os"] < found["flash"]["-O2"]
    lines = tuple(on_target.Line(o["op"], o["size"], o["instructions"]) for o in found["ops"])
    counted = on_target.Counted(TARGET, lines, found["flash"])
    monkeypatch.setattr(on_target, "measure", lambda *_: counted)
    shown = edgemon(*command, "--markdown").stdout
    for op in found["ops"]:
        counts = op["instructions"]
        assert f"{counts['-Os']:,.0f}" in shown
        assert op["ratio"] == counts["-Os"] / counts["-O3"]
    per_element = [op["instructions"]["-Os"] for op in found["ops"]][-1] / 1024
    assert 4 <= per_element <= 40


def test_answers_of_another_level_that_differ_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def run(target: Target, _: object) -> tuple[list[str], np.ndarray]:
        return ["row 0 0 1" if "-O3" in target.cflags else "row 0 0 0"], np.array([9.0, 3.0])

    monkeypatch.setattr(on_target, "_run", run)
    monkeypatch.setattr(targets, "measure", lambda _: SimpleNamespace(flash=1))
    with pytest.raises(BenchError, match="-O3 answers other than -Os"):
        on_target.measure(TARGET, "gather of int8[8]")


def test_what_no_emulator_counts_is_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "--cc" in refused("op-bounds", "--target", TARGET, "--cc", "gcc")
    assert "no op has" in refused("op-bounds", "--target", TARGET, "--only", "nonsense")
    target = replace(targets.load(TARGET), cflags=("-mthumb",))
    monkeypatch.setattr(targets, "load", lambda _: target)
    with pytest.raises(BenchError, match="no level"):
        on_target.measure(TARGET)


def test_each_program_has_one_beside_it_without_the_op() -> None:
    for probe, base in single_ops():
        assert [t.length for t in probe.program.taps] == [t.length for t in base.program.taps]
        assert len(base.program.nodes) == len(probe.program.nodes) - 1
