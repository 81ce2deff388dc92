"""What a bundle sees of rows whose accuracy is asked for."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import load_rows, record_loaded
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.errors import DataError
from edgemon.compiler.models.outputs import LOGITS, PROBABILITIES
from edgemon.compiler.program.ir import Tap
from edgemon.compiler.recording.evaluation import blocks
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.drift import Drift, DriftState
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.mirror import PLAIN
from edgemon.runtime.monitor import Monitor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SLACK = 2.0**-6  # by which a softmax of logits may miss probabilities that were quantised


@dataclass(frozen=True, eq=False)
class Observed:
    """n rows. ``classes``: of each label, -1 for one that no class has; None without labels.
    ``drift``: the bundle's drift test, which saw the rows in random order; None without one."""

    p: Floats  # (n, classes): softmax vectors
    predicted: npt.NDArray[np.int64]
    classes: npt.NDArray[np.int64] | None
    scores: Array  # (n,): raw scores of the watched monitor
    faults: Bools  # (n,): where it has none
    passed: Bools  # (n,): is the verdict of all monitors trust?
    numbers: npt.NDArray[np.int64]  # of the rows in what the user named
    drift: DriftState | None

    def __len__(self) -> int:
        return len(self.predicted)

    @property
    def right(self) -> Bools:
        """(n,): is the answer right? It is not where the label is of no class. Raises DataError
        without labels."""
        if self.classes is None:
            raise DataError("the data has no labels, so that right answers are unknown")
        return np.equal(self.predicted, self.classes)

    @property
    def key(self) -> str:
        """By which these rows are known again, whatever their file is called."""
        own = hashlib.blake2b(digest_size=16)
        for values in (self.numbers, self.predicted, self.scores):
            own.update(np.ascontiguousarray(values).tobytes())
        return own.hexdigest()

    def take(self, rows: npt.ArrayLike) -> Observed:
        """These rows; what the drift test saw is not theirs."""
        at = np.asarray(rows)
        return replace(
            self, p=self.p[at], predicted=self.predicted[at],
            classes=None if self.classes is None else self.classes[at], scores=self.scores[at],
            faults=self.faults[at], passed=self.passed[at], numbers=self.numbers[at], drift=None,
        )  # fmt: skip


def watched(bundle: Bundle) -> int:
    """The monitor whose scores are read: that of the drift test, or the first."""
    return 0 if bundle.artifact.drift is None else bundle.artifact.drift.monitor


def observe(
    bundle: Bundle, data: str, *, label_column: str | None = None, workers: int = 2, seed: int = 0,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> Observed:  # fmt: skip
    """Run the model and the monitors over rows. ``seed``: of the order in which the drift test sees
    them, since files are often sorted by class. Raises EdgemonError."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        rows = load_rows(bundle, data, Path(name), label_column=label_column, reporter=reporter)
        recording = record_loaded(
            bundle, replace(rows, y=None), Path(name), workers=workers, reporter=reporter
        )
        with reporter.stage("evaluating"):
            return of_recording(bundle, rows, recording, seed)


def of_recording(bundle: Bundle, rows: Dataset, recording: Recording, seed: int) -> Observed:
    """The same of rows that are recorded."""
    found = _evaluated(bundle, recording)
    return Observed(
        softmax_vectors(bundle.artifact.metadata, recording),
        recording.predicted.astype(np.int64),
        None if rows.y is None else bundle.classes.positions(rows),
        found.scores[watched(bundle)], found.verdicts[:, watched(bundle)] == Verdict.FAULT,
        found.verdict == Verdict.TRUST,
        rows.numbers, _drift(bundle, found, seed),
    )  # fmt: skip


def softmax_vectors(metadata: Mapping[str, Any], rows: Recording) -> Floats:
    """(n, classes), of logits where the bundle taps them: probabilities of integers saturate."""
    own, kind = rows.taps[0], metadata["model"]["output_kind"]
    values = rows.values(own.name)
    if own.length == 1:
        one = np.clip(values, 0, 1) if kind == PROBABILITIES else 1 / (1 + np.exp(-values))
        return np.concatenate([1 - one, one], axis=1)
    if kind == LOGITS or (kind != PROBABILITIES and not _sums_to_one(values)):
        return _softmax(values)
    p = np.clip(values, 0, 1)
    p /= np.maximum(p.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    for tap in rows.taps[1:]:
        if _may_be_logits(tap, own):
            found = _softmax(rows.values(tap.name))
            if np.abs(found - p).max(initial=0) < SLACK:
                return found
    return p


def _may_be_logits(tap: Tap, own: Tap) -> bool:
    return tap.length == own.length and tap.view == PLAIN and not tap.channels


def _sums_to_one(values: Floats) -> bool:
    return bool(
        values.min(initial=0) >= 0 and np.abs(values.sum(axis=1) - 1).max(initial=0) < SLACK
    )


def _softmax(z: Floats) -> Floats:
    odds = np.exp(z - z.max(axis=1, keepdims=True))
    found: Floats = odds / odds.sum(axis=1, keepdims=True)
    return found


def _evaluated(bundle: Bundle, rows: Recording) -> Evaluation:
    """By the C runtime, as on the device."""
    monitor = Monitor(bundle.artifact_bytes)
    parts = [monitor.evaluate(taps) for taps in blocks(bundle.artifact.program, rows)]
    if not parts:
        raise DataError("no rows")
    return Evaluation.joined(parts)


def _drift(bundle: Bundle, found: Evaluation, seed: int) -> DriftState | None:
    if bundle.artifact.drift is None:
        return None
    order = np.random.default_rng(seed).permutation(len(found.verdict))
    stream = Drift(Monitor(bundle.artifact_bytes))
    stream.update(found.take(order))
    return stream.state
