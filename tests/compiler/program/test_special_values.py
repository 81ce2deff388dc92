"""Every op meets NaN, infinities and the extremes of its type in every position: reference, C
and ONNX agree bit for bit, and what is no number is a fault (FORMAT.md, section 7.10)."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.emit import flat, onnx_emitter
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Program
from edgemon.compiler.program.ops import DEVICE_OPS, OPS
from edgemon.compiler.proof.prove import differing_rows
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.onnx import OnnxMonitor
from tests.compiler.op_cases import NAMES, program_of, special_rows
from tests.runtime.c_compilers import C_FLAGS, HERE, PRIVATE, SANITIZERS, SOURCES, need, run


def artifact_of(program: Program) -> bytes:
    return flat.write(flat.Artifact(program, "00" * 32, {}))


def not_finite(rows: list[Any]) -> Any:
    """(n,): does a float of the row hold a NaN or an infinity?"""
    floats = [x for x in rows if x.dtype.kind == "f"]
    return np.any([~np.isfinite(x).all(axis=1) for x in floats], axis=0)


@pytest.fixture(scope="module", params=[0, 1], ids=["fast", "small"])
def evaluate_rows(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """The C runtime behind its checks of taps, under sanitizers, in either form of its kernels."""
    folder = tmp_path_factory.mktemp("rows")
    program = folder / "evaluate_rows"
    run(
        need("gcc"), *C_FLAGS, f"-DEDGEMON_SMALL={request.param}", PRIVATE, "-O1", *SANITIZERS,
        HERE / "evaluate_rows.c", *SOURCES, "-o", program,
    )  # fmt: skip
    return program


def test_every_op_has_a_case() -> None:
    missing = {op.name for op in DEVICE_OPS.values()} - {op for op, _ in NAMES}
    assert not missing, f"no parity case in tests/compiler/op_cases.py: {missing}"
    for op, dtype in NAMES:
        assert op in {n.op for n in program_of(op, dtype).nodes}


@pytest.mark.parametrize(("op", "dtype"), NAMES)
def test_what_is_no_number_is_a_fault_everywhere(op: str, dtype: str) -> None:
    program = program_of(op, dtype)
    rows = special_rows(program)
    expected = reference.evaluate(program, rows)
    artifact = artifact_of(program)
    for other in (Monitor(artifact), OnnxMonitor(onnx_emitter.emit(program, {}))):
        differing = np.flatnonzero(differing_rows(expected, other.evaluate(rows)))
        assert not differing.size, f"{type(other).__name__}, row {differing[0]}"
    faulty = not_finite(rows)
    assert (expected.reason[faulty] == reference.TAP_VALUE).all()
    # Which results are no numbers, by the ops alone: nothing is cleared on the way.
    values = list(rows)
    with np.errstate(all="ignore"):
        for node in program.nodes:
            values.append(OPS[node.op].evaluate(node, *(values[i] for i in node.inputs)))
    strange = not_finite([np.zeros((len(faulty), 1), np.float32), *values[len(rows) :]]) & ~faulty
    assert (expected.reason[strange] == reference.SCORE).all()
    assert ((expected.verdict == Verdict.FAULT) == (faulty | strange)).all()
    for i, score in enumerate(expected.scores):
        assert not score[faulty | strange].any(), program.monitors[i].name


@pytest.mark.parametrize(("op", "dtype"), NAMES)
def test_a_tap_that_changes_after_its_check(
    op: str, dtype: str, evaluate_rows: Path, tmp_path: Path
) -> None:
    """No bit pattern is followed out of a table, and each op makes of it what the reference does:
    of all results, bit for bit."""
    program = program_of(op, dtype)
    rows = special_rows(program)
    (tmp_path / "artifact").write_bytes(artifact_of(program))
    joined = np.concatenate([x.view(np.uint8) for x in rows], axis=1)
    (tmp_path / "rows").write_bytes(joined.tobytes())
    command = [evaluate_rows, tmp_path / "artifact", tmp_path / "rows"]
    done = subprocess.run(command, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    found = np.frombuffer(done.stdout, np.uint8).reshape(len(joined), -1)
    values, cleared = reference.run_device(program, rows)
    np.testing.assert_array_equal(
        found[:, :4].copy().view(np.int32)[:, 0], np.where(cleared, reference.SCORE, 0)
    )
    at = 8
    for node, value in zip(program.nodes, values[len(rows) :], strict=True):
        expected = np.ascontiguousarray(value.astype(node.value.dtype)).view(np.uint8)
        np.testing.assert_array_equal(
            found[:, at : at + expected.shape[1]], expected, err_msg=node.op
        )
        scratch = OPS[node.op].scratch(program.value(node.inputs[0]))
        at += -(-expected.shape[1] // 8) * 8 + -(-scratch // 8) * 8
    assert at == found.shape[1]
