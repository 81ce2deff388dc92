"""The error of redrawn images as verdicts: those of C where one companion serves all classes, and
computed here where each class has its own, which no bundle holds.

The certified threshold is the one that ``compile`` sets; the published one is the mean error of the
class's training rows, which alarms on some half of the right ones by design.
"""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.alocc.companions import Array, Companions
from edgemon.bench.alocc.rows import inputs
from edgemon.bench.compare.panel import PanelOptions
from edgemon.bench.errors import BenchError
from edgemon.bench.farm.compiled import CERTIFIED, NATIVE, Compiled, Judgement
from edgemon.bench.farm.spec import FarmCase
from edgemon.bench.farm.subjects import OfCase
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.preprocess import Preprocess

Document = dict[str, Any]
Floats = npt.NDArray[np.float64]
MONITOR = "alocc"


class Shipped:
    """The monitor ``alocc`` with one companion, compiled, and its verdicts through C."""

    def __init__(
        self, path: Path, case: FarmCase, root: Path, options: PanelOptions, scratch: Path,
        reporter: Reporter,
    ) -> None:  # fmt: skip
        self.name = f"{MONITOR} {path.name}"
        own = replace(
            case, name=f"{case.name}, {self.name}", monitors=(MONITOR,),
            companion=str(path.resolve()),
        )  # fmt: skip
        beside = Path(tempfile.mkdtemp(dir=scratch))  # another subject's tapped model is there
        self._subject = OfCase(own, root, options, beside, reporter)
        held = self._subject.record(self._subject.data.pool[0].take(np.arange(1)), "first")
        ((_, found),) = self._subject.monitors(held)
        if not isinstance(found, Compiled):
            raise BenchError(f"{path}: {found}")
        self._compiled = found
        fit = self._subject.record(self._subject.data.fit, "fit")
        self._native = _published(_score(found.judge(fit)), fit)
        self._bytes = path.stat().st_size + found.properties()["bytes"]
        image = inputs(
            self._subject.data.pool[0].take([0]), Preprocess.parse(case.preprocess),
            self._subject.input,
        )  # fmt: skip
        self._milliseconds = Companions(path).milliseconds(image, _outputs(held))

    def judge(self, data: Dataset, _: Recording) -> Judgement:
        """Its verdicts."""
        rows = self._subject.record(data, "further")
        found = self._compiled.judge(rows)
        for file in rows.files:
            shutil.rmtree(file.path.parent, ignore_errors=True)
        alarms = _score(found) > self._native[rows.predicted]
        return Judgement({**found.verdicts, NATIVE: _verdicts(alarms)}, found.score)

    def properties(self) -> Document:
        return _properties(self._bytes, self._milliseconds)


class Reconstruction:
    """One companion a class, from a folder (or one for all, from a file), by its interpreter."""

    def __init__(
        self, path: Path, subject: OfCase, case: FarmCase, promise: FalseAlarmPromise,
        reporter: Reporter,
    ) -> None:  # fmt: skip
        self.name, self._companions = f"{MONITOR} {path.name}", Companions(path)
        self._subject, self._preprocess = subject, Preprocess.parse(case.preprocess)
        with reporter.stage(f"{self.name}: setting thresholds"):
            fit, held = (subject.record(d, "own") for d in (subject.data.fit, subject.data.pool[0]))
            self._native = _published(self.scores(subject.data.fit, fit), fit)
            own = self.scores(subject.data.pool[0], held)
            self.threshold = promise.threshold(own[held.correct].astype(np.float32))
        image = inputs(subject.data.pool[0].take([0]), self._preprocess, subject.input)
        self._milliseconds = self._companions.milliseconds(image, _outputs(held)[:1])

    def scores(self, data: Dataset, recorded: Recording) -> Floats:
        """(n,)"""
        images = inputs(data, self._preprocess, self._subject.input)
        return self._companions.errors(images, _outputs(recorded), recorded.predicted)

    def judge(self, data: Dataset, recorded: Recording) -> Judgement:
        """Its verdicts."""
        found = self.scores(data, recorded)
        alarms = {
            CERTIFIED: found.astype(np.float32) > self.threshold,
            NATIVE: found > self._native[recorded.predicted],
        }
        return Judgement({k: _verdicts(a) for k, a in alarms.items()}, found)

    def properties(self) -> Document:
        return _properties(self._companions.bytes, self._milliseconds)


def _published(scores: Floats, fit: Recording) -> Floats:
    """(classes,): the mean score of each class's fit rows; of a class without any, of all."""
    labels, finite = np.asarray(fit.labels), np.isfinite(scores)
    mean = float(scores[finite].mean()) if finite.any() else np.inf
    own = [scores[finite & (labels == c)] for c in range(fit.n_classes)]
    return np.array([s.mean() if s.size else mean for s in own])


def _score(found: Judgement) -> Floats:
    assert found.score is not None  # of one monitor
    return found.score


def _verdicts(alarms: npt.NDArray[np.bool_]) -> npt.NDArray[np.uint8]:
    return np.where(alarms, Verdict.ALARM, Verdict.TRUST).astype(np.uint8)


def _outputs(recorded: Recording) -> Array:
    return recorded.codes(recorded.taps[0].name)


def _properties(size: int, milliseconds: float) -> Document:
    return {"bytes": size, "native": True, "milliseconds": round(milliseconds, 3)}
