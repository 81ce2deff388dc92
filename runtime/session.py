"""Model and monitor together: an image in, an answer and its verdict out."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy.typing as npt

from edgemon.runtime import companions
from edgemon.runtime.accuracy import UNIT, Accuracy, AccuracyInfo, Estimate
from edgemon.runtime.drift import Drift, DriftInfo, DriftState
from edgemon.runtime.errors import ArtifactError, InputError, NotFiniteError
from edgemon.runtime.formats import model_file, open_classifier
from edgemon.runtime.metadata import Metadata, damaged
from edgemon.runtime.monitor import Monitor, MonitorInfo
from edgemon.runtime.preparation import Preparation
from edgemon.runtime.preprocess import InputSpec, Preprocess
from edgemon.runtime.result import Result, Results
from edgemon.runtime.taps import TapReader
from edgemon.runtime.untrusted import read
from edgemon.runtime.window import Window

Array = npt.NDArray[Any]

MONITOR = "monitor.emon"


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
        """Opens the artifact, checks that the model is the one it was compiled for, and so are its
        companions (``companions``), and runs its self-test. ``kernels`` overrides the kernel set of
        calibration (see ``open_classifier``), ``max_work`` the most element operations that an
        evaluation may take (see ``Monitor``).

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
        self._drift = Drift(self._monitor)
        self._window = Window(self._monitor)
        self._accuracy = Accuracy(self._monitor)
        self._stream = self._monitor.stream(
            self._drift.words, self._window.words, self._accuracy.words
        )
        classifier = open_classifier(
            model, threads=threads, kernels=kernels or metadata.kernels, content=content
        )
        beside = companions.opened(
            companions.contents(folder, self._monitor.companions), classifier,
            kernels=kernels or metadata.kernels, folder=folder, threads=threads,
        )  # fmt: skip
        metadata.require_model(classifier, beside, self._monitor.taps, folder)
        views = [tap.view for tap in self._monitor.taps]
        try:
            self._taps = TapReader(
                classifier, metadata.positions, views, self._input, self._preprocess, beside
            )
        except InputError as error:
            raise damaged(str(error)) from None
        self._prepared = Preparation(self._preprocess, self._input)
        self._results = Results(
            tuple(m.name for m in self._monitor.monitors),
            tuple(
                self._monitor.display(i, m.alarm_above)
                for i, m in enumerate(self._monitor.monitors)
            ),
            self._labels, metadata.rules, metadata.explanations,
        )  # fmt: skip

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

    @property
    def accuracy_table(self) -> AccuracyInfo | None:
        """The artifact's table of accuracy, if it has one (``edgemon accuracy fit`` writes it)."""
        return self._monitor.accuracy

    @property
    def accuracy(self) -> Estimate | None:
        """The estimated share of right answers over the last images, with its interval and whether
        it is valid; None for an artifact without a table. An image that raised InputError is not
        counted."""
        return self._accuracy.estimate(self._drift)

    def label(self, probability: float, right: bool) -> None:
        """Counts a label that came back: the ``Result.probability`` of an image that was drawn at
        random (since the drift flag, if there is one), and whether its answer was right."""
        if not 0 <= probability <= 1:
            raise InputError(
                f"a label's probability of {probability!r}: give the Result.probability of its "
                "image"
            )
        self._accuracy.label(round(probability * UNIT), right)

    def reset_drift(self) -> None:
        """Forgets all images: at a new stream of images, or when the cause of a flag is mended."""
        self._drift.reset()

    def report(self, *, device: int = 0, started: int = 0, ended: int = 0) -> bytes:
        """What was counted since the last report, as a device sends it (docs/fleet.md); counting
        begins anew. Times in s since 1970. An image that raised InputError is not counted."""
        found = self._window.to_bytes(
            device=device, started=started, ended=ended, drift=self._drift,
            accuracy=self._accuracy,
        )  # fmt: skip
        self._window.next()
        return found

    def evaluate(self, image: npt.ArrayLike) -> Result:
        """Run one image, as it comes from the camera or the file: ``preprocess`` is applied here.

        An image with a NaN or an infinity has the verdict fault; one of a wrong shape or type
        raises InputError. The taps are read in the interpreter's memory, without a copy, but for
        those of further inferences of the model, if the artifact has such taps.
        """
        try:
            x = self._prepared(image)
        except NotFiniteError as error:
            return self._fault(error)
        return self._answer(x)

    def evaluate_batch(self, images: Iterable[npt.ArrayLike]) -> list[Result]:
        """Run several images, one result each. None of them is counted if one raises."""
        states: list[Array] = [self._drift.words, self._window.words, self._accuracy.words]
        before: list[Array] = [words.copy() for words in states]
        results: list[Result] = []
        try:
            for number, image in enumerate(images):
                try:
                    x = self._prepared(image)
                except NotFiniteError as error:
                    results.append(self._fault(error))
                    continue
                except InputError as error:
                    raise InputError(f"image {number} of the batch: {error}") from None
                results.append(self._answer(x))
        except BaseException:
            for words, old in zip(states, before, strict=True):
                words[...] = old
            raise
        return results

    def _answer(self, x: Array) -> Result:
        return self._results.result(*self._stream.evaluate(self._taps.shaped(x)))

    def _fault(self, error: NotFiniteError) -> Result:
        self._accuracy.update_faults(drift=self._drift)
        self._window.update_faults()
        return self._results.fault(str(error))


def _read(folder: Path, name: str) -> bytes:
    try:
        return read(folder / name)
    except OSError:
        raise ArtifactError(
            f"{folder}: no edgemon bundle, it lacks {name}; give the folder that compile wrote"
        ) from None
