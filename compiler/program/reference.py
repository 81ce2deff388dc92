"""What a program means, in NumPy: the definition that C and ONNX are held to, bit for bit.

Every op (``Op.evaluate``) is one small function over a batch: inputs are arrays (rows, length),
the result is (rows, length of the result). The same functions give real programs (float64) their
meaning, so that a quantised program can be compared with what the monitor's author wrote.

Float32 programs use single IEEE 754 operations in a fixed order (FORMAT.md section 7), which
makes them reproducible on every CPU and in ONNX Runtime.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program.ir import Program
from edgemon.compiler.program.ops import OPS
from edgemon.runtime.evaluation import Evaluation, Verdict

Array = npt.NDArray[Any]

OK, TAP_VALUE, SCORE = 0, -27, -28  # em_status of edgemon.h


def evaluate(program: Program, taps: Sequence[Array]) -> Evaluation:
    """Evaluate a device program on n rows; ``taps[i]`` is (n, length) of the tap's dtype."""
    for tap, x in zip(program.taps, taps, strict=True):
        if x.dtype != np.dtype(tap.dtype) or x.ndim != 2 or x.shape[1] != tap.length:
            raise ValueError(f"tap {tap.name!r}: expected (rows, {tap.length}) of {tap.dtype}")
    faulty = np.zeros(len(taps[0]), bool)
    for x in taps:
        if x.dtype == np.float32:
            faulty |= ~np.isfinite(x).all(axis=1)
    clean = [np.where(faulty[:, None], np.zeros_like(x), x) for x in taps]
    values, cleared = run_device(program, clean)
    verdicts = np.empty((len(faulty), len(program.monitors)), np.uint8)
    scores = []
    bad = cleared | faulty
    reason = np.where(faulty, TAP_VALUE, np.where(cleared, SCORE, OK)).astype(np.int32)
    for m, monitor in enumerate(program.monitors):
        score = values[monitor.score][:, 0]
        verdict = np.where(
            score > monitor.alarm_above,
            Verdict.ALARM,
            np.where(score > monitor.uncertain_above, Verdict.UNCERTAIN, Verdict.TRUST),
        )
        verdicts[:, m] = np.where(bad, Verdict.FAULT, verdict)
        scores.append(np.where(bad, score.dtype.type(0), score))
    predicted = np.where(faulty, np.int32(-1), values[program.predicted][:, 0])
    return Evaluation(
        verdicts.max(axis=1), reason, predicted.astype(np.int32), verdicts, tuple(scores)
    )


def run_device(
    program: Program, taps: Sequence[Array]
) -> tuple[list[Array], npt.NDArray[np.bool_]]:
    """All values of a device program, by id, and the rows (n,) in which a float result was not
    finite: it became zeros, and the row is a fault (FORMAT.md, section 7.10). Taps may hold
    anything."""
    values = list(taps)
    cleared = np.zeros(len(taps[0]), bool)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for node in program.nodes:
            value: Array = OPS[node.op].evaluate(node, *(values[i] for i in node.inputs))
            if node.value.dtype == "float32":
                bad = np.logical_not(np.isfinite(value).all(axis=1))
                cleared |= bad
                value = np.where(bad[:, None], value.dtype.type(0), value)
            values.append(value)
    return values, cleared


def run_real(program: Program, taps: Sequence[Array]) -> list[Array]:
    """All values of a real program, by id; the taps hold real values."""
    values: list[Array] = [np.asarray(x, np.float64) for x in taps]
    for node in program.nodes:
        values.append(OPS[node.op].evaluate(node, *(values[i] for i in node.inputs)))
    return values
