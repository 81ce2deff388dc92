"""Reference = C = ONNX for every op and every tap type, and device programs = real programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgemon.compiler.emit import flat, onnx_emitter
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Tap
from edgemon.compiler.program.ir import Monitor as ProgramMonitor
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.program.ops.op import Op
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.proof.prove import differing_rows, prove
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.onnx import OnnxMonitor
from tests.compiler.programs import DTYPES, real_program, rows_of, taps_of

SHA = "ab" * 32


def compiled(dtype: str, seed: int) -> tuple[Any, Any, list[Any]]:
    rng = np.random.default_rng(seed)
    taps = taps_of(dtype, rng)
    rows = rows_of(taps, rng)
    real = real_program(taps, rows, rng)
    return real, quantise(real), rows


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("seed", range(2))
def test_reference_c_and_onnx_agree_on_rows_and_neighbours(dtype: str, seed: int) -> None:
    _, program, rows = compiled(dtype, seed)
    vectors = flat.SelfTest(
        tuple(x[:3] for x in rows), reference.evaluate(program, [x[:3] for x in rows])
    )
    artifact = flat.write(flat.Artifact(program, SHA, {}, vectors))
    proof = prove(artifact, onnx_emitter.emit(program, {}), [rows])
    assert proof.first_mismatch is None
    assert proof.rows == len(rows[0])
    assert proof.neighbours > 1000
    Monitor(artifact).self_test()


def test_every_rule_of_a_device_program_is_taken() -> None:
    """Those of ops that become something else than the same op on floats."""
    own = {op.name for op in OPS.values() if type(op).quantise is not Op.quantise}
    used = {node.op for dtype in DTYPES for node in compiled(dtype, 0)[0].nodes}
    assert own <= used, f"in no program of tests/compiler/programs.py: {own - used}"


@pytest.mark.parametrize("dtype", DTYPES)
def test_quantised_verdicts_are_the_real_ones(dtype: str) -> None:
    real, program, rows = compiled(dtype, 11)
    values = reference.run_real(real, [t.values(x) for t, x in zip(real.taps, rows, strict=True)])
    found = reference.evaluate(program, rows)
    for i, (written, device) in enumerate(zip(real.monitors, program.monitors, strict=True)):
        expected = values[written.score][:, 0]
        shown = found.scores[i] * device.display_scale
        # Trees and the side of a box are exact; scores lose what their number format loses.
        exact = written.name in ("trees", "votes")
        tolerance = 0 if exact else 2e-3
        if written.name == "spread":  # in half codes, rounded down
            tolerance = max(tolerance, real.taps[1].scale / 2)
        boxed = np.isfinite(expected)  # a class without a box is infinitely far away
        np.testing.assert_allclose(shown[boxed], expected[boxed], rtol=tolerance, atol=tolerance)
        if written.name in ("trees", "votes", "boxes"):
            assert (
                (expected > written.alarm_above) == (found.scores[i] > device.alarm_above)
            ).all()


def test_a_difference_is_found() -> None:
    """The proof can fail: another threshold in the ONNX model is a mismatch."""
    from dataclasses import replace

    _, program, rows = compiled("int8", 0)
    scores = reference.evaluate(program, rows).scores[0]
    moved = replace(program.monitors[0], alarm_above=int(np.median(scores)), uncertain_above=0)
    other = program.with_monitors([moved, *program.monitors[1:]])
    artifact = flat.write(flat.Artifact(program, SHA, {}))
    proof = prove(artifact, onnx_emitter.emit(other, {}), [rows])
    assert proof.mismatches > 0
    assert "ONNX" in str(proof.first_mismatch)


@pytest.mark.parametrize("dtype", DTYPES)
def test_each_monitor_alone_gives_the_same_scores(dtype: str) -> None:
    _, program, rows = compiled(dtype, 3)
    together = reference.evaluate(program, rows)
    for i, monitor in enumerate(program.monitors):
        alone = program.only(monitor.name)
        own = [rows[program.taps.index(t)] for t in alone.taps]
        found = Monitor(flat.write(flat.Artifact(alone, SHA, {}))).evaluate(own)
        np.testing.assert_array_equal(found.scores[0], together.scores[i])


@pytest.mark.parametrize("bias", [0.0, -0.0])
def test_minus_zero_is_zero_everywhere(bias: float) -> None:
    """ONNX Runtime leaves out an addition of 0, so that -1 * 0 + 0 was -0 there alone."""
    tap = Tap("t", "float32", 2)
    b = Builder([tap], real=True)
    turned = b.node("affine", 0, tables=[-np.eye(2).ravel(), np.full(2, bias)])
    score = b.node("gather", turned, tables=[np.zeros(1, np.uint32)])
    real = b.program(b.node("argmax", 0), [ProgramMonitor("m", score, 1.0, 1.0)])
    program = quantise(real)
    rows = [np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 0.0]], np.float32)]
    artifact = flat.write(flat.Artifact(program, SHA, {}))
    expected = reference.evaluate(program, rows)
    assert not np.signbit(expected.scores[0][:2]).any()
    for other in (Monitor(artifact), OnnxMonitor(onnx_emitter.emit(program, {}))):
        assert not differing_rows(expected, other.evaluate(rows)).any()


@pytest.mark.parametrize("special", [np.nan, np.inf, -np.inf])
def test_not_a_number_is_a_fault_everywhere(special: float) -> None:
    _, program, rows = compiled("float32", 0)
    rows[1][5, 3] = special
    artifact = flat.write(flat.Artifact(program, SHA, {}))
    expected = reference.evaluate(program, rows)
    assert expected.verdict[5] == 3
    assert expected.reason[5] == reference.TAP_VALUE
    assert (np.delete(expected.verdict, 5) != 3).all()
    for other in (Monitor(artifact), OnnxMonitor(onnx_emitter.emit(program, {}))):
        assert not differing_rows(expected, other.evaluate(rows)).any()
