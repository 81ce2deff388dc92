"""What a bundle sees of rows whose accuracy is asked for."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import load_rows, record_loaded
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.errors import DataError
from edgemon.compiler.recording.evaluation import blocks
from edgemon.compiler.recording.probabilities import softmax_vectors
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.drift import Drift, DriftState
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.monitor import Monitor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


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
    """The monitor whose scores are read: the first whose threshold is promised, or the first."""
    entries = bundle.manifest["monitors"]
    return next((i for i, m in enumerate(entries) if m["threshold_from"] == "held-out"), 0)


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
        softmax_vectors(recording, bundle.artifact.metadata["model"]["output_kind"]),
        recording.predicted.astype(np.int64),
        None if rows.y is None else bundle.classes.positions(rows),
        found.scores[watched(bundle)], found.verdicts[:, watched(bundle)] == Verdict.FAULT,
        found.verdict == Verdict.TRUST,
        rows.numbers, _drift(bundle, found, seed),
    )  # fmt: skip


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
