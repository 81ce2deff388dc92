"""A model or a bundle that answers changed images, opened once."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.output_folder import is_bundle
from edgemon.compiler.bundle_rows import load_rows, record_loaded
from edgemon.compiler.data.classes import Classes, resolve
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.estimation.observed import of_recording
from edgemon.compiler.models import open_model
from edgemon.compiler.recording.probabilities import softmax_vectors
from edgemon.compiler.recording.recorder import Recorder
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.trust.answers import Reading

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Answered:
    """n answers: class, its probability, and where monitors let it pass (None without)."""

    predicted: npt.NDArray[np.int64]
    confidence: npt.NDArray[np.float64]
    passed: npt.NDArray[np.bool_] | None


class Judge(Protocol):
    """What answers. ``key``: a hash of all that its answers depend on, besides the images."""

    classes: Classes
    key: str

    def rows(self, data: str, label_column: str | None) -> Dataset:
        """Rows as this model reads them."""

    def answer(self, rows: Dataset) -> Answered:
        """Of rows of such a kind; their labels are not read."""


def open_judge(
    path: Path, data: str, reading: Reading, scratch: Path, *, label_column: str | None,
    workers: int, reporter: Reporter,
) -> tuple[Judge, Dataset, npt.NDArray[np.int64]]:  # fmt: skip
    """The judge, images (n, H, W[, C]) of bytes on disk, and the class of each label, -1 for none.
    Raises EdgemonError."""
    own: Judge = (
        _OfBundle(path, scratch, workers, reporter)
        if is_bundle(path)
        else _OfModel(path, reading, scratch, workers, reporter)
    )
    rows = own.rows(data, label_column)
    if rows.y is None:
        raise BenchError(f"{data}: has no labels, so that right answers are unknown")
    if len(rows.shape) not in (3, 4) or rows.dtype != np.uint8:
        raise BenchError(
            f"{data}: robustness is about images of bytes, (N, H, W) or (N, H, W, C); these rows "
            f"are {rows.dtype} of the shape {rows.shape}"
        )
    return own, rows, own.classes.positions(rows)


@contextmanager
def on_disk(images: Bytes, scratch: Path) -> Iterator[Dataset]:
    """Images as rows, while the block lasts."""
    with tempfile.TemporaryDirectory(dir=scratch) as name:
        np.save(Path(name, "x.npy"), images)
        yield load(str(Path(name, "x.npy")), Path(name))


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

    def answer(self, rows: Dataset) -> Answered:
        with tempfile.TemporaryDirectory(dir=self._scratch) as name:
            plain = replace(rows, y=None)
            recording = record_loaded(self._bundle, plain, Path(name), workers=self._workers)
            seen = of_recording(self._bundle, plain, recording, seed=0)
        return _answered(seen.p, seen.predicted, seen.passed)


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
        how = f"{reading.preprocess.to_json()}{reading.label_order}{reading.kernels}"
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
        recorder = self._recorder()
        recorder.settle(numbered["rows"], None)
        self._model = recorder.model
        return numbered["rows"]

    def answer(self, rows: Dataset) -> Answered:
        found = self._recorder().record(self._model.untapped(), replace(rows, y=None))
        p = softmax_vectors(found, self._model.output_kind)
        return _answered(p, found.predicted.astype(np.int64), None)

    def _recorder(self) -> Recorder:
        return Recorder(
            self._model, self._scratch, self._reading.preprocess,
            self._model.kernels(self._reading.kernels), self.classes, workers=self._workers,
            seed=0,
        )  # fmt: skip


def _answered(
    p: Array, predicted: npt.NDArray[np.int64], passed: npt.NDArray[np.bool_] | None
) -> Answered:
    return Answered(predicted, p[np.arange(len(p)), np.maximum(predicted, 0)], passed)
