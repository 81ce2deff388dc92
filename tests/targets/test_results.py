"""Every target gives the reference's verdicts and score bits: all ops, on all data types."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from edgemon import targets
from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Program, Tap
from edgemon.compiler.program.ir import Monitor as IrMonitor
from edgemon.compiler.program.ops import DEVICE_OPS
from edgemon.compiler.proof.on_target import compare, prove_on, result_sha256
from edgemon.compiler.proof.prove import differing_rows
from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import Monitor
from edgemon.targets import emulation, program
from edgemon.targets.harness_lines import Rows, evaluation_of
from tests.compiler.op_cases import NAMES, program_of, special_rows
from tests.runtime.versions import make
from tests.targets.emulated import LITTLE, artifact_of, emulated, every_op

EVERY_OP = (make.HERE / "1.2.emon").read_bytes()
ROWS = 24  # of each program


@pytest.fixture(scope="module")
def cases() -> dict[str, tuple[bytes, Rows, Evaluation]]:
    """Of each op and data type: artifact, rows of special values, and what the reference says."""
    found = {}
    for op, dtype in NAMES:
        own = program_of(op, dtype)
        rows = [x[:ROWS] for x in special_rows(own)]
        found[f"{op} {dtype}"] = artifact_of(own), rows, reference.evaluate(own, rows)
    assert {name.split()[0] for name in found} == {op.name for op in DEVICE_OPS.values()}
    return found


@pytest.mark.parametrize("name", LITTLE)
def test_every_op_gives_the_same_bits(
    name: str, cases: dict[str, tuple[bytes, Rows, Evaluation]], tmp_path: Path
) -> None:
    target = emulated(name)
    made = every_op(target, (case[:2] for case in cases.values()), tmp_path)
    command = [] if program.runs_here(target) else [*made.emulator.command]
    lines = emulation.printed(target, [*command, str(made.path)], tmp_path)
    for what, (artifact, rows, expected) in cases.items():
        assert lines[0] == "open 0", what
        own_lines, lines = lines[1 : 1 + len(rows[0])], lines[1 + len(rows[0]) :]
        results = evaluation_of(
            Monitor(artifact), [line.removeprefix("row ") for line in own_lines]
        )
        assert not differing_rows(expected, results).any(), what
    assert not lines


@pytest.mark.parametrize("name", LITTLE)
def test_one_hash_for_all_targets(name: str) -> None:
    """Of an artifact with self-test and drift test, whose stack is seen to keep to its bound."""
    target = emulated(name)
    rows = list(flat.read(EVERY_OP).self_test.taps)  # type: ignore[union-attr]
    found = prove_on(target, EVERY_OP, rows)
    found.require()
    assert found.rows == len(rows[0])
    assert found.result_sha256 == result_sha256(reference.evaluate(make_program(), rows))
    bound = targets.measure(target, EVERY_OP)
    for function, seen in found.outcome.stack_seen.items():
        library = 160 if bound.outside else 0  # which the call graph does not see
        assert 100 < seen <= bound.stacks[function] + library, function


def make_program() -> Program:
    return flat.read(EVERY_OP).program


def test_instructions_are_the_same_in_each_run() -> None:
    target = emulated("cortex-m4f")
    rows = list(flat.read(EVERY_OP).self_test.taps)  # type: ignore[union-attr]
    first, second = (emulation.run(target, EVERY_OP, rows).instructions for _ in range(2))
    assert first is not None
    assert first == second
    assert len(first.evaluations) == len(rows[0])
    assert min(first.evaluations) > 1000
    # A program of no rows and one of the same rows twice: what is counted is an evaluation's own.
    doubled = emulation.run(target, EVERY_OP, [np.concatenate([x, x]) for x in rows]).instructions
    assert doubled is not None
    assert doubled.evaluations == first.evaluations * 2


@pytest.mark.parametrize("name", ["cortex-m4f", "cortex-m0plus", "riscv64"])
def test_the_estimate_of_accuracy_is_the_same_on_targets(name: str) -> None:
    """A core that divides 64 bits by a library's function among them."""
    target, artifact = emulated(name), (make.HERE / "1.4.emon").read_bytes()
    rows = [np.concatenate([x] * 7) for x in flat.read(artifact).self_test.taps]  # type: ignore[union-attr]
    found = prove_on(target, artifact, rows)
    found.require()
    assert found.outcome.accuracy is not None
    assert found.outcome.accuracy[4] > 30
    if found.outcome.instructions is not None:
        update, estimate = found.outcome.instructions.accuracy or (0, 0)
        assert 20 < update < 2000
        assert update < estimate < 20_000
    other = replace(found.outcome, accuracy=(1, 0, 65535, 1, 40))
    assert "accuracy (estimate" in (compare("a", artifact, rows, other).first_mismatch or "")


@pytest.mark.parametrize(
    ("elements", "board"), [(200, "microbit"), (9000, "lm3s6965evb"), (40000, "mps2-an385")]
)
def test_the_first_board_whose_memory_suffices(elements: int, board: str) -> None:
    """Of a Cortex-M0+, by the workspace; a program of all three runs."""
    b = Builder([Tap("x", "int8", 4)])
    wide = b.node("gather", 0, tables=[np.arange(elements, dtype=np.uint32) % 4])
    own = b.program(b.node("argmax", 0), [IrMonitor("m", b.node("sum", wide), 5, 0)])
    rows = [np.arange(-8, 8, dtype=np.int8).reshape(4, 4)]
    found = prove_on(emulated("cortex-m0plus"), artifact_of(own), rows)
    found.require()
    assert board in found.outcome.emulator


def test_a_big_endian_host_refuses() -> None:
    target = emulated("s390x")
    rows = list(flat.read(EVERY_OP).self_test.taps)  # type: ignore[union-attr]
    found = prove_on(target, EVERY_OP, rows)
    found.require()
    assert found.refused == "the artifact's byte order is not this machine's"
    assert found.result_sha256 is None
    assert found.outcome.self_test is None


def test_the_hash_is_of_every_bit() -> None:
    rows = list(flat.read(EVERY_OP).self_test.taps)  # type: ignore[union-attr]
    own = reference.evaluate(make_program(), rows)
    changed = own.scores[-1].copy()
    changed.view(np.uint8)[0] ^= 1
    other = Evaluation(
        own.verdict, own.reason, own.predicted, own.verdicts, (*own.scores[:-1], changed)
    )
    assert result_sha256(own) != result_sha256(other)
    assert hashlib.sha256(b"").hexdigest() != result_sha256(own)
