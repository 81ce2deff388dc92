"""Which layers a checker listens to, in which form: measured on rows, within a budget of bytes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from edgemon.compiler.data.groups import Groups
from edgemon.compiler.data.splits import cut
from edgemon.compiler.methods.kernel_density import LayerDensities
from edgemon.compiler.methods.selfchecker import SelfChecker
from edgemon.compiler.monitors.selfchecker.densities.candidates import (
    DensityCandidate,
    LayerCandidates,
    frontier,
)
from edgemon.compiler.monitors.selfchecker.densities.density import ClassDensity
from edgemon.compiler.monitors.selfchecker.doubt import doubt
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.metrics import Confusion

Array = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]

SAME = 0.99  # mean correlation of the features from which on two layers are one
GAIN = 0.01  # least rise of the MCC that is worth reading another layer
BLOCK = 1024  # rows


@dataclass(frozen=True)
class RowParts:
    """Which fit rows do what: densities learn from one part; on the other part layers are chosen
    and their say is learned. The exact densities' classes are known of few of the latter: forms
    are chosen on ``judged``, and their agreement is reported on ``reported``."""

    density: Array
    validation: Array
    judged: Array
    reported: Array

    @classmethod
    def split(
        cls, n: int, validation: float, exact_rows: int, seed: int, groups: Groups | None = None
    ) -> RowParts:
        """At random; of ``groups`` (n,) whole ones are on either side of the first division."""
        rng = np.random.default_rng(seed)
        if groups is None:
            order = rng.permutation(n)
            held_out = order[: max(2, round(n * validation))]
            density = np.sort(order[len(held_out) :])
        else:
            density, held_out = cut(np.zeros(n), (1 - validation, validation), rng, groups)
            held_out = rng.permutation(held_out)
        exact = held_out[:exact_rows]
        half = len(exact) // 2
        return cls(density, np.sort(held_out), exact[:half], exact[half:])


@dataclass(frozen=True, eq=False)
class Layer:
    """A layer as it is on the device."""

    tap: str
    density: ClassDensity
    size_bytes: int
    agreement: float  # with the exact density, on rows that chose nothing


class LayerWorkshop:
    """One layer with its exact density's classes and the candidates for its compact form."""

    def __init__(self, tap: str, x: Floats, recording: Recording, rows: RowParts) -> None:
        assert recording.labels is not None
        labels, n_classes = recording.labels[rows.density], recording.n_classes
        self.tap = tap
        self._reported = x[rows.reported]
        self._validation = x[rows.validation]
        exact = LayerDensities(n_classes).fit(x[rows.density], labels)
        self._exact = exact.classes(self._reported)
        self._candidates = LayerCandidates(
            recording.tap(tap),
            x[rows.density],
            labels,
            n_classes,
            x[rows.judged],
            exact.classes(x[rows.judged]),
        )
        self.options: list[DensityCandidate] = []

    def offer(self, most_bytes: int, forms: tuple[str, ...]) -> None:
        """Add the candidates of these forms to the options."""
        found = self._candidates.within(most_bytes, forms)
        self.options = frontier([*self.options, *found])

    def classes(self, candidate: DensityCandidate) -> Array:
        """(validation rows,)."""
        return np.asarray(candidate.density.log_densities(self._validation).argmax(axis=1))

    def layer(self, candidate: DensityCandidate) -> Layer:
        """The candidate, with its agreement on the reported rows."""
        found = candidate.density.log_densities(self._reported).argmax(axis=1)
        agreement = float((found == self._exact).mean())
        return Layer(self.tap, candidate.density, candidate.size_bytes, agreement)


def distinct(features: dict[str, Floats], recording: Recording) -> dict[str, Floats]:
    """Without layers that say nothing (all features constant) and without the longer of two that
    say the same, such as a map and its pooled form."""
    kept: dict[str, Floats] = {}
    for name in sorted(features, key=lambda n: (recording.tap(n).length, list(features).index(n))):
        x = features[name]
        varying = x.std(axis=0) > 0
        if varying.any() and not any(_same(x[:, varying], other) for other in kept.values()):
            kept[name] = x
    return {name: x for name, x in features.items() if name in kept}


def _same(x: Floats, other: Floats) -> bool:
    varying = other[:, other.std(axis=0) > 0]
    if x.shape != varying.shape:
        return False
    a, b = ((v - v.mean(axis=0)) / v.std(axis=0) for v in (x, varying))
    return bool((a * b).mean() > SAME)


def choose_layers(
    classes: Sequence[Array], predicted: Array, labels: Array, checker: SelfChecker, most: int
) -> list[int]:
    """Which layers (indices, ascending) to listen to: added one by one while that raises the
    MCC of the alarms. Each half of the rows is judged by what was learned on the other."""
    halves = [np.arange(len(labels)) % 2 == h for h in (0, 1)]
    table = np.stack(classes, axis=1)

    def quality(layers: list[int]) -> float:
        alarm = np.zeros(len(labels), bool)
        for half in halves:
            learned = clone(checker).fit(table[~half][:, layers], predicted[~half], labels[~half])
            alarm[half] = learned.verdicts(table[half][:, layers], predicted[half]) > 0
        found = Confusion.of(alarm, predicted != labels).mcc
        return -1.0 if found is None else found

    chosen: list[int] = []
    best = -np.inf
    while len(chosen) < min(most, len(classes)):
        trials = [sorted([*chosen, i]) for i in range(len(classes)) if i not in chosen]
        qualities = [quality(layers) for layers in trials]
        if chosen and max(qualities) < best + GAIN:
            break
        best, chosen = max(qualities), trials[int(np.argmax(qualities))]
    return chosen


@dataclass(frozen=True, eq=False)
class Heard:
    """What the layers say about n rows, computed as the device does."""

    classes: Array  # (n, layers)
    doubts: Floats  # (n, layers), in the predicted class


def answered(recording: Recording, names: Sequence[str]) -> tuple[Builder, int]:
    """A builder of a real program with these taps, and the id of the predicted class: that is a
    tap of its own, the first, because the model's output need not be among the recording's."""
    answer = Tap("the predicted class", "int8", recording.n_classes)
    builder = Builder([answer, *map(recording.tap, names)], real=True)
    return builder, builder.node("argmax", 0)


def listen(layers: Sequence[Layer], recording: Recording) -> Heard:
    """What the layers say about all rows of a recording."""
    names = [layer.tap for layer in layers]
    builder, predicted = answered(recording, names)
    monitors = []
    for i, layer in enumerate(layers):
        densities = layer.density.lower(builder, builder.features(layer.tap))
        own = builder.node("argmax", densities)
        monitors.append(Monitor(f"class {i}", own, 0, 0))
        monitors.append(Monitor(f"doubt {i}", doubt(builder, densities, predicted), 0, 0))
    program = quantise(builder.program(predicted, monitors))
    scores = [m.score for m in program.monitors]
    parts = []
    for start in range(0, len(recording), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(recording)))
        answers = np.eye(recording.n_classes, dtype=np.int8)[recording.predicted[rows]]
        taps = [answers, *(recording.codes(name, rows) for name in names)]
        values, _ = reference.run_device(program, taps)
        parts.append(np.concatenate([values[s].astype(np.float64) for s in scores], axis=1))
    found = np.concatenate(parts)
    return Heard(found[:, 0::2].astype(np.int64), found[:, 1::2])
