"""Layer agreement: each layer infers a class of its own, and disagreement with the model alarms.

Xiao, Beschastnikh, Rosenblum, Sun, Elbaum, Lin, Dong: "Self-Checking Deep Neural Networks in
Deployment", ICSE 2021 (SelfChecker). Layers' classes come from ``kernel_density``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from edgemon.compiler.errors import CompileError
from edgemon.compiler.methods.layer_search import EXHAUSTIVE_UP_TO, Subset, best_subset
from edgemon.runtime.evaluation import Verdict

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

RULES = ("majority", "advice_differs", "any_disagrees")


@dataclass(frozen=True)
class Advice:
    """The layers that are asked whether a row is of a class, and how much their word counts."""

    layers: Subset
    weight: float


class SelfChecker(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Chooses layers on validation rows, then judges rows by one of ``RULES``:

    majority: at least half of the alarm layers of the predicted class disagree with the model;
    advice_differs: the advised class is another one than the predicted;
    any_disagrees: any layer disagrees (of those that infer more than one class).
    """

    def __init__(
        self, n_classes: int, rule: str = "majority", exhaustive_up_to: int = EXHAUSTIVE_UP_TO
    ) -> None:
        self.n_classes = n_classes
        self.rule = rule
        self.exhaustive_up_to = exhaustive_up_to

    def fit(self, classes: Array, predicted: Array, labels: Array) -> Self:
        """Learn from validation rows: the layers' classes (n, layers), the model's and the true
        class (n,)."""
        if self.rule not in RULES:
            raise CompileError(
                f"selfchecker: unknown rule {self.rule!r}; there are {', '.join(RULES)}"
            )
        self.n_layers_ = classes.shape[1]
        self.greedy_ = self.n_layers_ > self.exhaustive_up_to
        self.varying_ = np.ptp(classes, axis=0) > 0
        self.alarm_layers_ = [
            self._alarm_layers(classes[predicted == a], a, labels[predicted == a])
            for a in range(self.n_classes)
        ]
        alarmed = self.majority(classes, predicted)
        # For alarmed rows and for the others: (predicted, true class) -> Advice.
        self.advice_: dict[bool, dict[tuple[int, int], Advice]] = {True: {}, False: {}}
        for group in (True, False):
            for a in range(self.n_classes):
                rows = (alarmed == group) & (predicted == a)
                self._learn_advice(group, a, classes[rows], labels[rows])
        return self

    def verdicts(self, classes: Array, predicted: Array) -> npt.NDArray[np.uint8]:
        """(n,) of Verdict, by the rule."""
        alarm: Bools
        if self.rule == "majority":
            alarm = self.majority(classes, predicted)
        elif self.rule == "advice_differs":
            alarm = np.asarray(self.advise(classes, predicted) != predicted)
        else:
            asked = self._disagree(classes, predicted)[:, self.varying_]
            alarm = np.asarray(asked.any(axis=1))
        return np.where(alarm, Verdict.ALARM, Verdict.TRUST).astype(np.uint8)

    def scores(self, classes: Array, predicted: Array) -> npt.NDArray[np.float64]:
        """(n,): the share of layers that disagree, of those that the rule asks; with
        ``advice_differs`` by how much another class's score exceeds the predicted one's."""
        if self.rule == "majority":
            return self._disagreement(classes, predicted)
        if self.rule == "any_disagrees":
            asked = self._disagree(classes, predicted)[:, self.varying_]
            return asked.mean(axis=1) if asked.shape[1] else np.zeros(len(classes))
        scores = self.class_scores(classes, predicted)
        rows = np.arange(len(scores))
        own = scores[rows, predicted]
        scores[rows, predicted] = -np.inf
        return np.asarray(scores.max(axis=1) - own)

    def majority(self, classes: Array, predicted: Array) -> Bools:
        """(n,): do at least half of the predicted class's alarm layers disagree?"""
        return np.asarray(self._disagreement(classes, predicted) >= 0.5)

    def advise(self, classes: Array, predicted: Array) -> npt.NDArray[np.int64]:
        """(n,): the advised class, the lower one on a tie."""
        return np.asarray(self.class_scores(classes, predicted).argmax(axis=1))

    def class_scores(self, classes: Array, predicted: Array) -> npt.NDArray[np.float64]:
        """(n, classes): share of the class's layers that infer it, times their weight."""
        alarmed = self.majority(classes, predicted)
        scores = np.zeros((len(classes), self.n_classes))
        for group, table in self.advice_.items():
            for (a, c), advice in table.items():
                rows = (alarmed == group) & (predicted == a)
                share = (classes[rows][:, advice.layers] == c).sum(axis=1) / len(advice.layers)
                scores[rows, c] = share * (advice.weight or 1.0 / self.n_classes)
        return scores

    def published_alarms(self, classes: Array, predicted: Array, labels: Array) -> Bools:
        """(n,): alarms as the published scoring counts them, which needs the true class and so is
        no monitor: on a wrong answer majority *or* advice that names the true class, on a right
        one advice that differs."""
        advice = self.advise(classes, predicted)
        on_wrong = self.majority(classes, predicted) | (advice == labels)
        return np.asarray(np.where(predicted == labels, advice != labels, on_wrong))

    def _alarm_layers(self, classes: Array, a: int, labels: Array) -> Subset:
        """The subset whose alarms have the best F1 on the rows that are predicted ``a``."""
        patterns, inverse = np.unique(classes != a, axis=0, return_inverse=True)
        wrong, right = (
            np.bincount(inverse.ravel(), labels_match, len(patterns))
            for labels_match in (labels != a, labels == a)
        )

        def f1(subsets: Bools) -> Array:
            disagree = subsets.astype(np.int64) @ patterns.T.astype(np.int64)
            alarm = (2 * disagree >= subsets.sum(axis=1, keepdims=True)).astype(np.float64)
            hits, misses, false = alarm @ wrong, (1 - alarm) @ wrong, alarm @ right
            total = 2 * hits + misses + false
            return np.asarray(
                np.divide(2 * hits, total, out=np.zeros(len(subsets)), where=total > 0)
            )

        return best_subset(self.n_layers_, f1, self.exhaustive_up_to)

    def _learn_advice(self, group: bool, a: int, classes: Array, labels: Array) -> None:
        n_right = int((labels == a).sum())
        for c in range(self.n_classes):
            rows = classes[labels == c]
            if not len(rows):
                continue
            layers, accuracy = self._advice_layers(rows, c)
            among = len(labels) if c == a else len(labels) - n_right
            self.advice_[group][a, c] = Advice(layers, len(rows) * accuracy / among)

    def _advice_layers(self, classes: Array, c: int) -> tuple[Subset, float]:
        """The subset whose majority vote (the lower class on a tie) is ``c`` most often."""
        patterns, counts = np.unique(classes, axis=0, return_counts=True)
        inferred = patterns[:, :, None] == np.arange(self.n_classes)  # (patterns, layers, classes)
        flat = inferred.transpose(1, 0, 2).reshape(self.n_layers_, -1).astype(np.float32)

        def accuracy(subsets: Bools) -> Array:
            votes = (subsets.astype(np.float32) @ flat).reshape(-1, len(patterns), self.n_classes)
            return np.asarray((votes.argmax(axis=2) == c) @ counts / len(classes))

        layers = best_subset(self.n_layers_, accuracy, self.exhaustive_up_to)
        chosen = np.zeros((1, self.n_layers_), bool)
        chosen[0, list(layers)] = True
        return layers, float(accuracy(chosen)[0])

    def _disagreement(self, classes: Array, predicted: Array) -> npt.NDArray[np.float64]:
        """(n,): share of the predicted class's alarm layers that disagree."""
        disagree = self._disagree(classes, predicted)
        share = np.empty(len(classes))
        for a, layers in enumerate(self.alarm_layers_):
            rows = predicted == a
            share[rows] = disagree[rows][:, layers].mean(axis=1)
        return share

    @staticmethod
    def _disagree(classes: Array, predicted: Array) -> Bools:
        return np.asarray(classes != predicted[:, None])
