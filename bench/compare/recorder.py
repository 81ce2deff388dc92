"""Records rows of a case: its model, taps, preprocessing, labels and kernels are the same."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from edgemon import targets
from edgemon.bench.compare.spec import Case
from edgemon.compiler.data.classes import label_map
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.errors import CompileError
from edgemon.compiler.float_model import compare_answers, give_float_model
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import CompanionFile, Model
from edgemon.compiler.models.tap_rules import suggest, tap_of
from edgemon.compiler.monitors import MonitorEstimator, parse
from edgemon.compiler.recording.recorder import SAMPLE, settled
from edgemon.compiler.recording.recording import Recording, record
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.taps.assignment import assign_taps
from edgemon.runtime.preprocess import Preprocess
from edgemon.runtime.views import COMPANION


class CaseRecorder:
    """Taps what the monitors of a case read, and the logits, which break ties of scores.
    ``output`` and ``logits`` are the names of those taps; ``model`` knows how it decides."""

    def __init__(
        self, case: Case, model: Model, tensors: tuple[Tensor, ...], fit: Dataset, scratch: Path,
        workers: int, reporter: Reporter,
    ) -> None:  # fmt: skip
        self._case, self._scratch, self._workers = case, scratch, workers
        self._reporter = reporter
        self._preprocess = Preprocess.parse(case.preprocess)
        self.labels = label_map(model.n_classes, case.label_order)
        self._kernels = model.kernels(targets.load(targets.DEFAULT).kernels)
        self.model, self._tapped = model, model.untapped()
        sample = fit.take(np.arange(min(SAMPLE, len(fit))))
        self.model, decision = settled(model, lambda m: self._first(m, sample))
        if decision is not None:
            reporter.note(f"{case.name}: {decision}")
        logits = suggest(model.graph).get("logits", ())
        wanted = tuple(dict.fromkeys((*tensors, *logits[:1])))
        self._tapped = self.model.with_taps(wanted, scratch / self.model.tapped_name)
        self.output = self._tapped.taps[0].name
        self.logits = tap_of(logits[0]).name if logits else self.output

    @property
    def companions(self) -> tuple[CompanionFile, ...]:
        """Models beside the model that the monitors need."""
        return self._tapped.companions

    def record(self, data: Dataset, name: str) -> Recording:
        """All rows; files stay in the scratch folder."""
        with self._reporter.stage(
            f"{self._case.name}: recording {len(data)} {name} rows"
        ) as progress:
            return record(
                self._tapped, data, preprocess=self._preprocess, input=self.model.input,
                labels=self.labels, kernels=self._kernels,
                scratch=Path(tempfile.mkdtemp(dir=self._scratch)), workers=self._workers,
                progress=progress,
            )  # fmt: skip

    def _first(self, model: Model, sample: Dataset) -> Recording:
        self.model, self._tapped = model, model.untapped()
        return self.record(sample, "first")


def with_taps(
    case: Case, root: Path, model: Model, calibrate: Dataset, seed: int, reporter: Reporter
) -> tuple[dict[str, MonitorEstimator], dict[str, str], tuple[Tensor, ...]]:
    """Estimators that this model suits, why others do not, and all tensors to tap. Rows of
    ``calibrate`` tell whether a float model is that of the model."""
    preprocess = Preprocess.parse(case.preprocess)
    kernels = model.kernels(targets.load(targets.DEFAULT).kernels)
    estimators: dict[str, MonitorEstimator] = {}
    refused: dict[str, str] = {}
    tensors: list[Tensor] = [model.graph.tensors[model.graph.outputs[0]]]
    companion = root / case.companion if case.companion else None
    for name in case.monitors:
        (estimator,) = parse(name, seed=seed)
        try:
            give_float_model(
                [estimator], None, root / case.float_model if case.float_model else None
            )
            for sentence in compare_answers([estimator], model, calibrate, preprocess, kernels):
                reporter.note(f"{case.name}: {name}: {sentence}")
            given = companion if estimator.companion_view == COMPANION else None
            chosen = assign_taps(model, [estimator], "", preprocess, companion=given)
            _require_same_companions(name, chosen, tensors)
        except CompileError as error:
            refused[name] = str(error)
            continue
        estimators[name] = estimator
        tensors += [t for t in chosen if t not in tensors]
    return estimators, refused, tuple(tensors)


def _require_same_companions(name: str, chosen: Iterable[Tensor], before: Iterable[Tensor]) -> None:
    """Raises CompileError for a monitor that brings another companion than those before it: the
    rows of a case are recorded once."""
    there = {t.companion.view: t.companion for t in before if t.companion is not None}
    for mine in (t.companion for t in chosen if t.companion is not None):
        if mine.view in there and there[mine.view].content != mine.content:
            raise CompileError(
                f"{name} brings another companion of the view {mine.view} than a monitor before it "
                "in this case: put it in a case of its own"
            )
