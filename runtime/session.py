"""Model and monitor together: an image in, an answer and its verdict out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.drift import Drift, DriftInfo, DriftState
from edgemon.runtime.errors import ArtifactError, InputError, NotFiniteError
from edgemon.runtime.evaluation import Evaluation, Verdict
from edgemon.runtime.formats import model_file, open_classifier
from edgemon.runtime.metadata import Metadata, damaged
from edgemon.runtime.monitor import Monitor, MonitorInfo, status_text
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input
from edgemon.runtime.taps import TapReader
from edgemon.runtime.untrusted import read
from edgemon.runtime.window import VALUE_FAULT, Window

Array = npt.NDArray[Any]

MONITOR = "monitor.emon"
ALL_AGREE = "all monitors agree"


@dataclass(frozen=True)
class MonitorResult:
    """One monitor's opinion; ``score`` and ``threshold`` in the unit that people are shown."""

    name: str
    verdict: Verdict
    score: float
    threshold: float


@dataclass(frozen=True)
class TermResult:
    """A signal of a fusion: its score in the unit that people are shown, and what it adds."""

    name: str
    score: float
    nats: float


@dataclass(frozen=True)
class Result:
    """The classifier's answer and whether to rely on it.

    ``score`` is that of the monitor that decided (the first with the worst verdict). After a
    fault of the image ``prediction`` is -1, ``label`` is empty and scores are NaN. ``terms``: of
    each signal of a fusion its score and the nats that it adds.
    """

    prediction: int
    label: str
    verdict: Verdict
    score: float
    reason: str
    monitors: tuple[MonitorResult, ...]
    terms: tuple[TermResult, ...] = ()


class Session:
    """A bundle, ready to run. Not shared between threads: an interpreter has one input."""

    def __init__(
        self,
        bundle: Path | str,
        *,
        kernels: str | None = None,
        threads: int = 1,
        max_work: int | None = None,
    ) -> None:
        """Opens the artifact, checks that the model is the one it was compiled for, and runs its
        self-test. ``kernels`` overrides the kernel set of calibration (see ``open_classifier``),
        ``max_work`` the most element operations that an evaluation may take (see ``Monitor``).

        Raises ArtifactError for an unusable bundle, BackendError without an interpreter.
        """
        folder = Path(bundle)
        model = model_file(folder)
        self._monitor = Monitor(_read(folder, MONITOR), max_work=max_work)
        content = _read(folder, model.name)  # once: what is hashed is what runs
        self._monitor.bind_model(hashlib.sha256(content).hexdigest())
        self._monitor.self_test()
        metadata = Metadata.of(self._monitor)
        self._preprocess, self._input = metadata.preprocess, metadata.input
        self._labels, self._label_values = metadata.labels, metadata.label_values
        self._rules, self._explanations = metadata.rules, metadata.explanations
        self._drift = Drift(self._monitor)
        self._window = Window(self._monitor)
        classifier = open_classifier(
            model, threads=threads, kernels=kernels or metadata.kernels, content=content
        )
        metadata.require_model(classifier, self._monitor.taps, folder)
        views = [tap.view for tap in self._monitor.taps]
        try:
            self._taps = TapReader(
                classifier, metadata.positions, views, self._input, self._preprocess
            )
        except InputError as error:
            raise damaged(str(error)) from None
        self._thresholds = tuple(
            self._monitor.display(i, m.alarm_above) for i, m in enumerate(self._monitor.monitors)
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, in the model's order."""
        return self._labels

    @property
    def label_values(self) -> tuple[int, ...]:
        """The data label of each class, in the model's order."""
        return self._label_values

    @property
    def preprocess(self) -> Preprocess:
        """What is done to an image before it enters the model."""
        return self._preprocess

    @property
    def input(self) -> InputSpec:
        """The model's input."""
        return self._input

    @property
    def monitors(self) -> tuple[MonitorInfo, ...]:
        """The monitors and their thresholds in raw units."""
        return self._monitor.monitors

    @property
    def drift_test(self) -> DriftInfo | None:
        """The artifact's drift test, if it has one."""
        return self._monitor.drift

    @property
    def drift(self) -> DriftState:
        """Are the scores of all images so far still distributed as in calibration? A flag says
        that no guarantee holds any more. An image that raised InputError is not counted."""
        return self._drift.state

    def reset_drift(self) -> None:
        """Forgets all images: at a new stream of images, or when the cause of a flag is mended."""
        self._drift.reset()

    def report(self, *, device: int = 0, started: int = 0, ended: int = 0) -> bytes:
        """What was counted since the last report, as a device sends it (docs/fleet.md); counting
        begins anew. Times in s since 1970. An image that raised InputError is not counted."""
        found = self._window.to_bytes(
            device=device, started=started, ended=ended, drift=self._drift
        )
        self._window.next()
        return found

    def evaluate(self, image: npt.ArrayLike) -> Result:
        """Run one image, as it comes from the camera or the file: ``preprocess`` is applied here.

        An image with a NaN or an infinity has the verdict fault; one of a wrong shape or type
        raises InputError. The taps are read in the interpreter's memory, without a copy, but for
        those of a second inference, on the mirrored image, if the artifact has such taps.
        """
        try:
            x = to_input(image, self._preprocess, self._input)
        except NotFiniteError as error:
            self._count_faults(1)
            return self._fault(str(error))
        found = self._monitor.evaluate([tap.reshape(1, -1) for tap in self._taps.read(x)])
        self._count(found)
        return self._result(found, 0)

    def evaluate_batch(self, images: Iterable[npt.ArrayLike]) -> list[Result]:
        """Run several images, one result each; the monitors are called once for all of them."""
        results: list[Result | None] = []
        rows: list[list[Array]] = [[] for _ in self._monitor.taps]
        for number, image in enumerate(images):
            try:
                x = to_input(image, self._preprocess, self._input)
            except NotFiniteError as error:
                results.append(self._fault(str(error)))
                continue
            except InputError as error:
                raise InputError(f"image {number} of the batch: {error}") from None
            results.append(None)
            copies = [values.copy() for values in self._taps.read(x)]
            for row, values in zip(rows, copies, strict=True):
                row.append(values)
        if None not in results:
            self._count_faults(len(results))
            return [r for r in results if r is not None]
        found = self._monitor.evaluate([np.stack(tap) for tap in rows])
        self._count(_in_place(found, np.array([r is None for r in results])))
        evaluated = iter(range(len(found.verdict)))
        return [r if r is not None else self._result(found, next(evaluated)) for r in results]

    def _count(self, found: Evaluation) -> None:
        self._drift.update(found)
        self._window.update(found)

    def _count_faults(self, images: int) -> None:
        self._drift.update_faults(images)
        self._window.update_faults(images)

    def _result(self, found: Evaluation, row: int) -> Result:
        verdict = Verdict(int(found.verdict[row]))
        status = int(found.reason[row])
        monitors = tuple(
            MonitorResult(
                monitor.name,
                Verdict(int(found.verdicts[row, i])),
                self._monitor.display(i, found.scores[i][row].item()),
                self._thresholds[i],
            )
            for i, monitor in enumerate(self._monitor.monitors)
        )
        prediction = int(found.predicted[row])
        decisive = next((m for m in monitors if m.verdict == verdict), monitors[0])
        return Result(
            prediction=prediction,
            label=self._labels[prediction] if 0 <= prediction < len(self._labels) else "",
            verdict=verdict,
            score=decisive.score if prediction >= 0 else float("nan"),
            reason=status_text(status) if status else self._sentence(decisive, monitors, verdict),
            monitors=tuple(m for m in monitors if m.name in self._rules),
            terms=self._terms({m.name: m.score for m in monitors}),
        )

    def _terms(self, scores: dict[str, float]) -> tuple[TermResult, ...]:
        return tuple(
            TermResult(name, scores[name], nats)
            for explanation in self._explanations.values()
            for name, nats in explanation.surprises(scores).items()
        )

    def _sentence(
        self, decisive: MonitorResult, monitors: tuple[MonitorResult, ...], verdict: Verdict
    ) -> str:
        if verdict == Verdict.TRUST:
            return ALL_AGREE
        explanation = self._explanations.get(decisive.name)
        if explanation is not None:
            return f"{decisive.name}: {explanation.sentence({m.name: m.score for m in monitors})}"
        rule = self._rules.get(decisive.name, "score {score}, above {threshold}")
        # No str.format: the metadata is untrusted, and a format string can reach attributes.
        text = rule.replace("{score}", f"{decisive.score:.3g}")
        return f"{decisive.name}: {text.replace('{threshold}', f'{decisive.threshold:.3g}')}"

    def _fault(self, reason: str) -> Result:
        nan = float("nan")
        monitors = tuple(
            MonitorResult(m.name, Verdict.FAULT, nan, threshold)
            for m, threshold in zip(self._monitor.monitors, self._thresholds, strict=True)
            if m.name in self._rules
        )
        return Result(-1, "", Verdict.FAULT, nan, reason, monitors)


def _in_place(found: Evaluation, evaluated: npt.NDArray[np.bool_]) -> Evaluation:
    """The results of the rows that were evaluated, with faults where the other ones were."""
    if evaluated.all():
        return found
    rows = np.where(evaluated, np.cumsum(evaluated) - 1, 0)

    def spread(values: Array, otherwise: int) -> Array:
        kept = evaluated.reshape(-1, *(1,) * (values.ndim - 1))
        return np.where(kept, values[rows], values.dtype.type(otherwise))

    return Evaluation(
        spread(found.verdict, Verdict.FAULT),
        spread(found.reason, VALUE_FAULT),
        spread(found.predicted, -1),
        spread(found.verdicts, Verdict.FAULT),
        tuple(spread(s, 0) for s in found.scores),
    )


def _read(folder: Path, name: str) -> bytes:
    try:
        return read(folder / name)
    except OSError:
        raise ArtifactError(
            f"{folder}: no edgemon bundle, it lacks {name}; give the folder that compile wrote"
        ) from None
