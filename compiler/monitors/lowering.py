"""Fitted monitors as one program."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgemon.compiler.monitors.estimator import MonitorEstimator, Score
from edgemon.compiler.program.grids import Represented
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.quantise import quantise_scores
from edgemon.compiler.recording.evaluation import predicted_class


@dataclass(frozen=True, eq=False)
class Lowered:
    """A real program in the making: the scores of monitors, and the class that they judge."""

    builder: Builder
    predicted: int
    names: tuple[str, ...]
    scores: tuple[Score, ...]

    def monitors(self) -> list[Monitor]:
        """At the thresholds of the methods themselves, 0 where they have none."""
        return [score.monitor(name) for name, score in zip(self.names, self.scores, strict=True)]

    def quantised(self, monitors: Sequence[Monitor] | None = None) -> Program:
        """The device program of these monitors (default: all), with nothing that none needs."""
        return self.represented(monitors)[0].trimmed()

    def represented(
        self, monitors: Sequence[Monitor] | None = None
    ) -> tuple[Program, tuple[Represented, ...]]:
        """The device program, and how it represents each score."""
        chosen = self.monitors() if monitors is None else monitors
        return quantise_scores(self.builder.program(self.predicted, chosen))


def lowered(estimators: Sequence[MonitorEstimator], taps: Sequence[Tap], output: str) -> Lowered:
    """Fitted estimators on these taps; ``output`` is the name of that with the model's output,
    whose argmax is the class that they judge."""
    builder = Builder(tuple(taps), real=True)
    predicted = predicted_class(builder, builder.tap(output))
    scores = tuple(e.lower(builder, predicted) for e in estimators)
    return Lowered(builder, predicted, tuple(e.kind for e in estimators), scores)
