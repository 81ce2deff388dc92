"""The answers of a model or of a bundle to labelled rows, with their confidence."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.output_folder import is_bundle
from edgemon.compiler.data.classes import resolve
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import load
from edgemon.compiler.errors import DataError
from edgemon.compiler.estimation.observed import observe
from edgemon.compiler.models import open_model
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.tap_rules import suggest
from edgemon.compiler.recording.probabilities import softmax_vectors
from edgemon.compiler.recording.recorder import Recorder
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.preprocess import Preprocess

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Classes64 = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Reading:
    """How rows reach a model that has no bundle; as the options of ``compile`` of these names."""

    preprocess: Preprocess = Preprocess()  # noqa: RUF009 - immutable
    label_order: str = "numeric"
    classes: tuple[str, ...] | None = None
    kernels: str = "xnnpack"


@dataclass(frozen=True, eq=False)
class Answers:
    """n answers. ``passed``: where a bundle's monitors let them pass; None without monitors."""

    p: Floats  # (n, classes): softmax vectors
    predicted: Classes64
    labels: Classes64  # -1 for one of no class
    passed: Bools | None
    names: tuple[str, ...]  # of the classes

    @property
    def right(self) -> Bools:
        """(n,)."""
        return np.equal(self.predicted, self.labels)

    @property
    def confidence(self) -> Floats:
        """(n,): the probability of the class that was answered."""
        found: Floats = self.p[np.arange(len(self.p)), np.maximum(self.predicted, 0)]
        return found

    def take(self, rows: npt.ArrayLike) -> Answers:
        """These rows."""
        at = np.asarray(rows)
        return replace(
            self, p=self.p[at], predicted=self.predicted[at], labels=self.labels[at],
            passed=None if self.passed is None else self.passed[at],
        )  # fmt: skip


def answers(
    path: Path, data: str, reading: Reading, *, label_column: str | None = None, workers: int = 2,
    seed: int = 0, reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> Answers:  # fmt: skip
    """Of a bundle, as it reads rows, or of a model. Raises EdgemonError."""
    if is_bundle(path):
        bundle = Bundle.open(path)
        bundle.require_intact()
        seen = observe(
            bundle, data, label_column=label_column, workers=workers, seed=seed, reporter=reporter
        )
        if seen.classes is None:
            raise DataError(f"{data}: has no labels, so that right answers are unknown")
        return Answers(seen.p, seen.predicted, seen.classes, seen.passed, bundle.classes.names)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        return _of_model(path, data, reading, Path(scratch), label_column, workers, seed, reporter)


def _of_model(
    path: Path, data: str, reading: Reading, scratch: Path, label_column: str | None, workers: int,
    seed: int, reporter: Reporter,
) -> Answers:  # fmt: skip
    with reporter.stage("opening the model"):
        model = open_model(path, scratch)
        model.require_classifier()
    pictures = Pictures.of(reading.preprocess, model.input)
    rows = load(data, scratch, label_column=label_column, pictures=pictures, warn=reporter.warn)
    if rows.y is None:
        raise DataError(f"{data}: has no labels, so that right answers are unknown")
    classes, numbered = resolve(
        {"rows": rows}, model.n_classes, order=reading.label_order, given=reading.classes,
        of_model=model.class_names, warn=reporter.warn,
    )  # fmt: skip
    recorder = Recorder(
        model, scratch, reading.preprocess, model.kernels(reading.kernels), classes,
        workers=workers, seed=seed,
    )  # fmt: skip
    recorder.settle(numbered["rows"], None)
    with reporter.stage("recording") as progress:
        tapped = recorder.model.with_taps(_tensors(recorder.model), scratch / model.tapped_name)
        found = recorder.record(tapped, numbered["rows"], progress)
    assert found.labels is not None
    return Answers(
        softmax_vectors(found, recorder.model.output_kind), found.predicted.astype(np.int64),
        found.labels, None, classes.names,
    )  # fmt: skip


def _tensors(model: Model) -> tuple[Tensor, ...]:
    """The output, and the logits where they can be tapped: probabilities of integers saturate."""
    own = model.graph.tensors[model.graph.outputs[0]]
    return tuple(dict.fromkeys((own, *suggest(model.graph).get("logits", ()))))


def by_scenario(found: Answers, which: str) -> Classes64:
    """Of each row (n,) its scenario: the class of its label, or of its answer."""
    return found.labels if which == "true" else found.predicted
