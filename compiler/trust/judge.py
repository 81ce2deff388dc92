"""A model or a bundle that answers rows, opened once."""

from __future__ import annotations

import hashlib
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.output_folder import is_bundle
from edgemon.compiler.bundle_rows import load_rows, record_loaded
from edgemon.compiler.data.classes import Classes, resolve
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.errors import DataError
from edgemon.compiler.estimation.observed import of_recording
from edgemon.compiler.models import open_model
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.tap_rules import suggest
from edgemon.compiler.recording.probabilities import softmax_vectors
from edgemon.compiler.recording.recorder import Recorder
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.preprocess import Preprocess

CONFIDENCE = "of the logits where they can be tapped"  # a part of the key of a model's answers


@dataclass(frozen=True)
class Reading:
    """How rows reach a model that has no bundle; as the options of ``compile`` of these names."""

    preprocess: Preprocess = Preprocess()  # noqa: RUF009 - immutable
    label_order: str = "numeric"
    classes: tuple[str, ...] | None = None
    kernels: str = "xnnpack"


@dataclass(frozen=True, eq=False)
class Answered:
    """n answers: softmax vectors (n, classes), classes (n,), and where monitors let them pass
    (None without monitors)."""

    p: npt.NDArray[np.float64]
    predicted: npt.NDArray[np.int64]
    passed: npt.NDArray[np.bool_] | None

    @property
    def confidence(self) -> npt.NDArray[np.float64]:
        """(n,): the probability of the class that was answered."""
        found: npt.NDArray[np.float64] = self.p[
            np.arange(len(self.p)), np.maximum(self.predicted, 0)
        ]
        return found


class Judge(Protocol):
    """What answers. ``key``: a hash of all that its answers depend on, besides the rows."""

    classes: Classes
    key: str

    def rows(self, data: str, label_column: str | None) -> Dataset:
        """Rows as this model reads them."""

    def answer(self, rows: Dataset, reporter: Reporter = ...) -> Answered:
        """Of rows of such a kind; their labels are not read."""


def open_judge(
    path: Path, data: str, reading: Reading, scratch: Path, *, label_column: str | None = None,
    workers: int = 2, reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> tuple[Judge, Dataset, npt.NDArray[np.int64]]:  # fmt: skip
    """The judge, labelled rows, and the class of each label, -1 for none. Raises EdgemonError."""
    own: Judge = (
        _OfBundle(path, scratch, workers, reporter)
        if is_bundle(path)
        else _OfModel(path, reading, scratch, workers, reporter)
    )
    rows = own.rows(data, label_column)
    if rows.y is None:
        raise DataError(f"{data}: has no labels, so that right answers are unknown")
    return own, rows, own.classes.positions(rows)


class _OfBundle:
    def __init__(self, path: Path, scratch: Path, workers: int, reporter: Reporter) -> None:
        self._bundle = Bundle.open(path)
        self._bundle.require_intact()
        self._scratch, self._workers, self._reporter = scratch, workers, reporter
        self.classes = self._bundle.classes
        self.key = hashlib.sha256(self._bundle.artifact_bytes).hexdigest()

    def rows(self, data: str, label_column: str | None) -> Dataset:
        return load_rows(
            self._bundle, data, self._scratch, label_column=label_column, reporter=self._reporter
        )

    def answer(self, rows: Dataset, reporter: Reporter = Reporter()) -> Answered:  # noqa: B008
        with tempfile.TemporaryDirectory(dir=self._scratch) as name:
            plain = replace(rows, y=None)
            recording = record_loaded(
                self._bundle, plain, Path(name), workers=self._workers, reporter=reporter
            )
            seen = of_recording(self._bundle, plain, recording, seed=0)
        return Answered(seen.p, seen.predicted, seen.passed)


class _OfModel:
    def __init__(
        self, path: Path, reading: Reading, scratch: Path, workers: int, reporter: Reporter
    ) -> None:
        with reporter.stage("opening the model"):
            self._model = open_model(path, scratch)
            self._model.require_classifier()
        self._reading, self._scratch = reading, scratch
        self._workers, self._reporter = workers, reporter
        self.classes = Classes((), ())  # known once there are rows
        how = f"{reading.preprocess.to_json()}{reading.label_order}{reading.kernels}{CONFIDENCE}"
        self.key = hashlib.sha256(self._model.content + how.encode()).hexdigest()

    def rows(self, data: str, label_column: str | None) -> Dataset:
        pictures = Pictures.of(self._reading.preprocess, self._model.input)
        rows = load(
            data, self._scratch, label_column=label_column, pictures=pictures,
            warn=self._reporter.warn,
        )  # fmt: skip
        if rows.y is None:
            return rows
        self.classes, numbered = resolve(
            {"rows": rows}, self._model.n_classes, order=self._reading.label_order,
            given=self._reading.classes, of_model=self._model.class_names,
            warn=self._reporter.warn,
        )  # fmt: skip
        recorder = self._recorder(self._scratch)
        recorder.settle(numbered["rows"], None)
        self._model = recorder.model
        path = self._scratch / self._model.tapped_name
        self._tapped = self._model.with_taps(_tensors(self._model), path)
        return numbered["rows"]

    def answer(self, rows: Dataset, reporter: Reporter = Reporter()) -> Answered:  # noqa: B008
        with (
            tempfile.TemporaryDirectory(dir=self._scratch) as name,
            reporter.stage("recording") as progress,
        ):
            plain = replace(rows, y=None)
            found = self._recorder(Path(name)).record(self._tapped, plain, progress)
            p = softmax_vectors(found, self._model.output_kind)
            return Answered(p, found.predicted.astype(np.int64), None)

    def _recorder(self, scratch: Path) -> Recorder:
        return Recorder(
            self._model, scratch, self._reading.preprocess,
            self._model.kernels(self._reading.kernels), self.classes, workers=self._workers,
            seed=0,
        )  # fmt: skip


def _tensors(model: Model) -> tuple[Tensor, ...]:
    """The output, and the logits where they can be tapped: probabilities of integers saturate."""
    own = model.graph.tensors[model.graph.outputs[0]]
    return tuple(dict.fromkeys((own, *suggest(model.graph).get("logits", ()))))
