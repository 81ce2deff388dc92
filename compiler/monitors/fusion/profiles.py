"""Fusions that choose their signals themselves, for two purposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.class_subspace import ClassSubspaceMonitor
from edgemon.compiler.monitors.density import DensityMonitor
from edgemon.compiler.monitors.error_forest import BoostedOpinionMonitor, ForestMonitor
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator
from edgemon.compiler.monitors.fdbd import BoundaryMonitor
from edgemon.compiler.monitors.fusion.fusion import NOVELTY_SHARE, FusionMonitor
from edgemon.compiler.monitors.fusion.reduction import smallest
from edgemon.compiler.monitors.mirror import MirrorMonitor
from edgemon.compiler.monitors.output_scores import TemperatureMonitor
from edgemon.compiler.monitors.prototypes import PrototypeOddsMonitor, PrototypesMonitor
from edgemon.compiler.monitors.rmds import RelativeMahalanobisMonitor
from edgemon.compiler.monitors.second_opinion import MahalanobisGapMonitor, SecondOpinionMonitor
from edgemon.compiler.monitors.shared.cells import image_in_cells
from edgemon.compiler.monitors.subspace import SubspaceMonitor, suits
from edgemon.compiler.recording.recording import Recording

UNUSED = "disagreement"  # of a signal, whose own threshold nobody asks for: the one found soonest
NO_FEATURES = "no tensor in front of the logits can be read as the features they are made of"
LEAST_APART = 0.75  # share of the fit rows of which the pixels alone name the class
MOST_CLASSES = 10  # of a model for which boosted trees, one series a class, stay small


class ErrorsMonitor(FusionMonitor):
    """A stack of cheap signals against the model's own errors."""

    kind: ClassVar[str] = "errors"
    what: ClassVar[str] = "fusion of signals against the model's own errors"
    source: ClassVar[str] = (
        "Fisher's combination of tail probabilities, weighed by logistic regression"
    )

    def analyse(self, model: Model) -> Analysis:
        signals, unavailable = _error_signals(model, self.seed, mirror=self.mirror)
        return Analysis((), {"signals": signals, "unavailable": tuple(unavailable.items())})


class ScodMonitor(FusionMonitor):
    """The stack, and the surprise of novelty signals."""

    kind: ClassVar[str] = "scod"
    what: ClassVar[str] = "fusion of signals against own errors and novel inputs"
    source: ClassVar[str] = (
        "Fisher's combination of tail probabilities; Xia, Bouganis: Augmenting Softmax "
        "Information for Selective Classification with Out-of-Distribution Data, ACCV 2022, "
        "for the task"
    )

    def analyse(self, model: Model) -> Analysis:
        signals, unavailable = _error_signals(model, self.seed, mirror=self.mirror)
        early = SubspaceMonitor() if suits(model) else DensityMonitor()
        novelty: tuple[MonitorEstimator, ...] = (early,)
        features = (RelativeMahalanobisMonitor(), PrototypesMonitor(per_class=2, seed=self.seed))
        if "penultimate" in tap_rules.suggest(model.graph):
            novelty += features
        else:
            unavailable |= dict.fromkeys((m.kind for m in features), NO_FEATURES)
        if suits(model) and image_in_cells(model) is not None:
            novelty += (ClassSubspaceMonitor(),)
        why = tuple(unavailable.items())
        return Analysis((), {"signals": signals, "novelty": novelty, "unavailable": why})

    def _novelty_for(
        self, recording: Recording, fit: Callable[[MonitorEstimator], MonitorEstimator]
    ) -> tuple[MonitorEstimator, ...]:
        """Either ``class_subspace``, where it tells classes apart, or ``prototypes``."""
        pixels = next((m for m in self.novelty if isinstance(m, ClassSubspaceMonitor)), None)
        if pixels is None:
            return self.novelty
        problem = self._problem_of(pixels, recording, fit)
        given_up = ClassSubspaceMonitor if problem else PrototypesMonitor
        left_out = {m.kind for m in self.novelty if isinstance(m, given_up)}
        self.left_out_ |= dict.fromkeys(left_out, problem or f"{pixels.kind} is in its place")
        return tuple(m for m in self.novelty if m.kind not in left_out)

    def _problem_of(
        self, pixels: ClassSubspaceMonitor, recording: Recording,
        fit: Callable[[MonitorEstimator], MonitorEstimator],
    ) -> str:  # fmt: skip
        """Why prototypes see more; "" if they do not."""
        try:
            apart = fit(pixels).details()["told_apart"]
        except CompileError as error:
            return str(error)
        if apart is None:
            return "the fit rows are too few to ask whether pixels alone name the class"
        if apart < LEAST_APART:
            return (
                "from a half of the fit rows, pixels alone name the class of only "
                f"{apart:.1%} of the others"
            )
        least = smallest(pixels, recording).least_bytes(recording) / KILOBYTE
        if least > self.budget_kb * NOVELTY_SHARE / 2:
            return (
                f"its tables take {least:,.1f} kB or more with {recording.n_classes:,} classes, "
                f"more than a quarter of {self.budget_kb:g} kB; give more (--budget-kb)"
            )
        return ""


def _error_signals(
    model: Model, seed: int, *, mirror: bool
) -> tuple[tuple[MonitorEstimator, ...], dict[str, str]]:
    """What this model offers, cheapest first; and why it does not offer the others."""
    signals: list[MonitorEstimator] = [TemperatureMonitor()]
    unavailable: dict[str, str] = {}
    features = (
        SecondOpinionMonitor(rule=UNUSED, seed=seed),
        MahalanobisGapMonitor(rule=UNUSED, seed=seed), BoundaryMonitor(),
        PrototypeOddsMonitor(seed=seed),
    )  # fmt: skip
    if "penultimate" in tap_rules.suggest(model.graph):
        signals += features
    else:
        unavailable |= dict.fromkeys((m.kind for m in features), NO_FEATURES)
    trees = (ForestMonitor(seed=seed), BoostedOpinionMonitor(rule=UNUSED, seed=seed))
    problem = tap_rules.no_narrow_input(model.graph)
    for tree in trees:
        if problem is not None:
            unavailable[tree.kind] = problem
        elif tree is trees[1] and model.n_classes > MOST_CLASSES:
            unavailable[tree.kind] = (
                f"the model has {model.n_classes:,} classes, and a series of trees for each of "
                f"more than {MOST_CLASSES} would not stay small"
            )
        else:
            signals.append(tree)
    if mirror:
        signals.append(MirrorMonitor(rule=UNUSED, seed=seed))
    return tuple(signals), unavailable
