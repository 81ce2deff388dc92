"""The proof on a target: what its emulator computes of rows is what the reference says.

Verdicts, reasons, predicted classes and raw scores are compared bit for bit, as in ``prove``, and
the drift test over the rows in their order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.accuracy.reference import AccuracyReference
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import ParityError
from edgemon.compiler.program import reference
from edgemon.compiler.promise.drift.detector import DriftReference
from edgemon.compiler.proof.prove import differing_rows
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.monitor import Monitor, status_text
from edgemon.targets import Outcome, Target, run_artifact

Array = npt.NDArray[Any]


@dataclass(frozen=True, eq=False)
class TargetProof:
    """What ran on the target, and where it differs from the reference."""

    name: str  # as sentences begin: "target aarch64"
    big_endian: bool
    outcome: Outcome
    rows: int
    mismatches: int
    first_mismatch: str | None

    @property
    def refused(self) -> str | None:
        """Why the target does not open the artifact."""
        return status_text(self.outcome.opened) if self.outcome.opened else None

    @property
    def result_sha256(self) -> str | None:
        """Of all results; the same on all targets. None if the artifact was refused."""
        found = self.outcome.evaluation
        return None if found is None else result_sha256(found)

    def require(self) -> None:
        """Raises ParityError unless everything agrees, or, on a target of the other byte order,
        unless the artifact was refused."""
        name, said = self.name, self.outcome
        if self.big_endian:
            if self.refused is None:
                raise ParityError(f"{name}: opens an artifact of the other byte order")
        elif self.refused is not None:
            raise ParityError(f"{name}: em_open refuses the artifact: {self.refused}")
        elif status := said.self_test or said.check:
            what = "em_self_test" if said.self_test else "em_check"
            raise ParityError(f"{name}: {what} fails: {status_text(status)}")
        elif self.mismatches:
            raise ParityError(
                f"{name}: {self.mismatches} of {self.rows} rows differ between the "
                f"reference and the target: {self.first_mismatch}. Do not deploy this bundle "
                "there; please report the model and the command"
            )


def prove_on(target: Target, artifact: bytes, rows: Sequence[Array]) -> TargetProof:
    """Run an artifact's rows, an array (n, length) a tap, in the target's emulator, and compare.
    Raises TargetError if that cannot be done."""
    outcome = run_artifact(target, artifact, rows)
    return compare(f"target {target.name}", artifact, rows, outcome, big_endian=target.big_endian)


def compare(
    name: str, artifact: bytes, rows: Sequence[Array], outcome: Outcome, *, big_endian: bool = False
) -> TargetProof:
    """What a target made of an artifact's rows, beside what the reference makes of them."""
    decoded, found = flat.read(artifact), outcome.evaluation
    if found is None:
        return TargetProof(name, big_endian, outcome, len(rows[0]), 0, None)
    expected = reference.evaluate(decoded.program, rows)
    mismatches, first = 0, None
    if len(found.verdict) != len(expected.verdict):
        mismatches = len(expected.verdict)
        first = f"{len(found.verdict)} results of {len(expected.verdict)} rows"
    else:
        differs = differing_rows(expected, found)
        differs |= differing_rows(expected, Monitor(artifact).evaluate(rows))
        mismatches = int(differs.sum())
        if mismatches:
            row = int(np.flatnonzero(differs)[0])
            first = (
                f"row {row}: verdict {expected.verdict[row]} against {found.verdict[row]}, scores "
                f"{[s[row].item() for s in expected.scores]} against "
                f"{[s[row].item() for s in found.scores]}"
            )
        if not mismatches and decoded.drift is not None:
            first = _drift_differs(DriftReference(decoded.drift), expected, outcome)
            mismatches = int(first is not None)
        if not mismatches and decoded.accuracy is not None:
            first = _accuracy_differs(decoded, expected, outcome)
            mismatches = int(first is not None)
    return TargetProof(name, big_endian, outcome, len(rows[0]), mismatches, first)


def _drift_differs(test: DriftReference, found: Evaluation, outcome: Outcome) -> str | None:
    watched = test.test.monitor
    test.update(found.scores[watched], found.verdicts[:, watched] == Verdict.FAULT)
    state = (test.images, test.faults, test.flagged_at)
    if outcome.drift == state:
        return None
    return f"drift test (images, faults, image of the flag): {state} against {outcome.drift}"


def _accuracy_differs(artifact: flat.Artifact, found: Evaluation, outcome: Outcome) -> str | None:
    assert artifact.accuracy is not None
    flagged = 0 if outcome.drift is None else outcome.drift[2]
    own, watched = AccuracyReference(artifact.accuracy), artifact.accuracy.monitor
    numbers = 1 + np.arange(len(found.verdict))
    own.update(
        found.scores[watched], found.verdicts[:, watched] == Verdict.FAULT,
        np.where((numbers >= flagged) & (flagged > 0), flagged, 0),
    )  # fmt: skip
    e = own.estimate()
    state = (e.estimate, e.low, e.high, int(e.valid), e.images)
    if outcome.accuracy == state:
        return None
    return f"accuracy (estimate, low, high, valid, images): {state} against {outcome.accuracy}"


def result_sha256(found: Evaluation) -> str:
    """Of verdicts, reasons, classes and the bits of the scores."""
    arrays = (found.verdict, found.reason, found.predicted, found.verdicts, *found.scores)
    own = hashlib.sha256()
    for array in arrays:
        own.update(np.ascontiguousarray(array).tobytes())
    return own.hexdigest()
