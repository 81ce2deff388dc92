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

from edgemon.compiler.documents import manifest as schema
from edgemon.compiler.emit.flat import read
from edgemon.compiler.errors import ParityError
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Program
from edgemon.compiler.program.neighbours import TapRows, neighbours
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.promise.drift.detector import DriftReference, DriftTest
from edgemon.compiler.reporter import Progress
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
    drift = None if decoded.drift is None else _DriftStreams(decoded.drift, monitor)
    for rows in data:
        _compare(proof, program, others, rows, "row")
        if drift is not None:
            drift.compare(proof, rows)
        proof.rows += len(rows[0])
        if sum(len(b[0]) for b in base) < most:
            base.append([x[:most] for x in rows])
        if progress:
            progress(proof.rows, 0)
    # Last a row of zeros, for where there is no other to start from.
    base.append([np.zeros((1, t.length), t.dtype) for t in program.taps])
    finite = _finite([np.concatenate(parts) for parts in zip(*base, strict=True)])
    for rows in neighbours(program, [x[:most] for x in finite]):
        _compare(proof, program, others, rows, "threshold neighbour")
        proof.neighbours += len(rows[0])
        if progress:
            progress(proof.rows + proof.neighbours, 0)
    return proof


class _DriftStreams:
    """The drift test of reference and of C, over the same rows."""

    def __init__(self, test: DriftTest, monitor: Monitor) -> None:
        self._reference = DriftReference(test)
        self._monitor, self._c = monitor, Drift(monitor)

    def compare(self, proof: Proof, rows: TapRows) -> None:
        """After each block all counters and sums must agree. The scores are C's, which are proven
        to be the reference's."""
        found = self._monitor.evaluate(rows)
        watched = self._reference.test.monitor
        self._reference.update(found.scores[watched], found.verdicts[:, watched] == Verdict.FAULT)
        self._c.update(found)
        if self._reference.state != self._c.state:
            proof.mismatches += 1
            proof.first_mismatch = proof.first_mismatch or (
                f"drift test, reference against C: {self._reference.state} against {self._c.state}"
            )


def _finite(rows: TapRows) -> TapRows:
    keep = np.ones(len(rows[0]), bool)
    for x in rows:
        keep &= np.isfinite(x).all(axis=1)
    return [x[keep] for x in rows]


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
