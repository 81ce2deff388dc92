"""The proof: reference = C = ONNX Runtime, on data and on threshold neighbours.

A difference anywhere in verdict, reason, predicted class or raw score (compared bit for bit, for
floats too: the op set needs no tolerance) is a mismatch, and a compile with a mismatch fails.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from edgemon.compiler.accuracy.reference import AccuracyReference
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.emit.flat import Artifact, read
from edgemon.compiler.errors import ParityError
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Program
from edgemon.compiler.program.neighbours import TapRows, finite, gathered, neighbours
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.promise.drift.detector import DriftReference
from edgemon.compiler.reporter import Progress
from edgemon.runtime.accuracy import Accuracy
from edgemon.runtime.drift import Drift
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.onnx import OnnxMonitor

Array = npt.NDArray[Any]

MOST_BASE_ROWS, BASE_ELEMENTS = 4096, 1 << 24  # from which neighbours start
BLOCK_ELEMENTS = 1 << 21  # bounds the memory that ONNX Runtime needs for the largest op


@dataclass
class Proof:
    """Rows compared and rows that differ in any implementation."""

    rows: int = 0
    neighbours: int = 0
    mismatches: int = 0
    first_mismatch: str | None = None
    tolerance: float = 0.0

    def to_json(self) -> schema.Parity:
        return cast(schema.Parity, asdict(self))

    def require(self) -> None:
        """Raises ParityError unless everything agrees."""
        if self.mismatches:
            raise ParityError(
                f"{self.mismatches} of {self.rows + self.neighbours} proof rows differ between "
                f"the reference, C and ONNX: {self.first_mismatch}. Do not deploy this bundle; "
                "please report the model and the command"
            )


def prove(
    artifact: bytes, onnx: bytes, data: Iterable[TapRows], progress: Progress | None = None
) -> Proof:
    """Prove an artifact and its ONNX twin on blocks of recorded rows and on their neighbours.

    Args:
        artifact: a flat file. onnx: a serialised model.
        data: blocks of rows, one (n, length) array a tap of the artifact, in its order.
    """
    decoded = read(artifact)
    program = decoded.program
    monitor = Monitor(artifact)
    others = {"C": monitor, "ONNX": OnnxMonitor(onnx)}
    proof = Proof()
    width = sum(tap.length for tap in program.taps)
    most = max(1, min(MOST_BASE_ROWS, BASE_ELEMENTS // width))
    base: list[TapRows] = []
    if decoded.self_test:
        vectors = list(decoded.self_test.taps)
        base.append(vectors)
        _compare(proof, program, others, vectors, "self-test vector")
        proof.neighbours += len(vectors[0])
    streams = _Streams(decoded, monitor)
    for rows in data:
        _compare(proof, program, others, rows, "row")
        streams.compare(proof, rows)
        proof.rows += len(rows[0])
        if sum(len(b[0]) for b in base) < most:
            base.append([x[:most] for x in rows])
        if progress:
            progress(proof.rows, 0)
    # Last a row of zeros, for where there is no other to start from.
    base.append([np.zeros((1, t.length), t.dtype) for t in program.taps])
    joined = [np.concatenate(parts) for parts in zip(*base, strict=True)]
    ordinary = finite(joined)
    start = [x[ordinary][:most] for x in joined]
    for rows in gathered(neighbours(program, start), start):
        _compare(proof, program, others, rows, "threshold neighbour")
        proof.neighbours += len(rows[0])
        if progress:
            progress(proof.rows + proof.neighbours, 0)
    return proof


class _Streams:
    """The drift test and the estimate of accuracy, of reference and of C, over the same rows."""

    def __init__(self, artifact: Artifact, monitor: Monitor) -> None:
        self._monitor = monitor
        self._drift = None if artifact.drift is None else DriftReference(artifact.drift)
        table = artifact.accuracy
        self._accuracy = None if table is None else AccuracyReference(table)
        self._c_drift, self._c_accuracy = Drift(monitor), Accuracy(monitor)
        self._images = 0

    def compare(self, proof: Proof, rows: TapRows) -> None:
        """After each block all counters and sums must agree. The scores are C's, which are proven
        to be the reference's."""
        if self._drift is None and self._accuracy is None:
            return
        found = self._monitor.evaluate(rows)
        self._c_accuracy.update(found, self._c_drift)
        numbers = self._images + 1 + np.arange(len(found.verdict))
        self._images += len(numbers)
        flagged: Array | int = 0
        if self._drift is not None:
            watched = self._drift.test.monitor
            self._drift.update(found.scores[watched], _faults(found, watched))
            _agree(proof, "drift test", self._drift.state, self._c_drift.state)
            risen = self._drift.flagged_at
            flagged = np.where((numbers >= risen) & (risen > 0), risen, 0)
        if self._accuracy is not None:
            self._compare_accuracy(proof, self._accuracy, found, flagged)

    def _compare_accuracy(
        self, proof: Proof, own: AccuracyReference, found: Evaluation, flagged: Array | int
    ) -> None:
        """Every third row brings a label: which, and whether it says right, matters to no sum."""
        watched = own.table.monitor
        faults = _faults(found, watched)
        own.update(found.scores[watched], faults, flagged)
        for row in np.flatnonzero(~faults)[::3].tolist():
            probability = int(own.table.lookup(found.scores[watched][row : row + 1])[0])
            own.label(probability, row % 5 > 0)
            self._c_accuracy.label(probability, row % 5 > 0)
        _agree(proof, "accuracy", own.state, self._c_accuracy.state)
        estimate = self._c_accuracy.estimate(self._c_drift)
        _agree(proof, "estimate of accuracy", own.estimate(), estimate)


def _faults(found: Evaluation, watched: int) -> npt.NDArray[np.bool_]:
    faults: npt.NDArray[np.bool_] = found.verdicts[:, watched] == Verdict.FAULT
    return faults


def _agree(proof: Proof, what: str, expected: object, found: object) -> None:
    if expected != found:
        proof.mismatches += 1
        proof.first_mismatch = proof.first_mismatch or (
            f"{what}, reference against C: {expected} against {found}"
        )


def _compare(
    proof: Proof, program: Program, others: dict[str, Any], rows: TapRows, what: str
) -> None:
    step = max(1, BLOCK_ELEMENTS // _widest(program))
    for start in range(0, len(rows[0]), step):
        _compare_block(proof, program, others, [x[start : start + step] for x in rows], what)


def _widest(program: Program) -> int:
    """Elements a row of the largest tap or intermediate result."""
    between = [OPS[node.op].widest(node) for node in program.nodes]
    return max(*between, *(tap.length for tap in program.taps))


def _compare_block(
    proof: Proof, program: Program, others: dict[str, Any], rows: TapRows, what: str
) -> None:
    expected = reference.evaluate(program, rows)
    different = np.zeros(len(expected.verdict), bool)
    for name, implementation in others.items():
        found = implementation.evaluate(rows)
        differs = differing_rows(expected, found)
        if differs.any() and proof.first_mismatch is None:
            row = int(np.flatnonzero(differs)[0])
            scores = [
                f"{m.name} {a[row]!r} against {b[row]!r}"
                for m, a, b in zip(program.monitors, expected.scores, found.scores, strict=True)
            ]
            proof.first_mismatch = (
                f"{what} {row}, reference against {name}: verdict {expected.verdict[row]} against "
                f"{found.verdict[row]}, scores {', '.join(scores)}"
            )
        different |= differs
    proof.mismatches += int(different.sum())


def differing_rows(a: Evaluation, b: Evaluation) -> npt.NDArray[np.bool_]:
    """(n,) where two evaluations differ in anything; floats are compared by their bits."""
    differs = np.not_equal(a.verdict, b.verdict) | np.not_equal(a.reason, b.reason)
    differs |= a.predicted != b.predicted
    differs |= (a.verdicts != b.verdicts).any(axis=1)
    for x, y in zip(a.scores, b.scores, strict=True):
        if x.dtype != y.dtype:
            raise TypeError(f"score types differ: {x.dtype}, {y.dtype}")
        if x.dtype == np.float32:
            x, y = (np.ascontiguousarray(v).view(np.int32) for v in (x, y))
        differs |= x != y
    return differs
