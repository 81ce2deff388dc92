"""A second opinion: another classifier on the tapped features judges the model's answer.

The score is its own log-odds against the predicted class, which is high where it disagrees and
moderate where it is unsure itself. ``rule`` is that of ``disagreement.alarm_threshold``.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from edgemon.compiler.data.groups import Groups
from edgemon.compiler.data.splits import cut
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.estimator import MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.shared.disagreement import RULES, alarm_threshold
from edgemon.compiler.monitors.shared.vectors import joined, joined_values, log_odds_against
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]

PENALTIES = (0.01, 0.1, 1.0)  # inverse strengths of the ridge penalty that are tried
FEWEST_ROWS = 2  # of a class, from which a covariance is learned
NO_CLASS = -30.0  # log-probability (nats) of a class without fit rows


def with_spread(kind: str, x: Floats, labels: Integers) -> npt.NDArray[np.bool_]:
    """(n,): is this row of a class with ``FEWEST_ROWS``? One row has no spread. Raises CompileError
    where fewer than two classes have, or features (n, width) never vary."""
    found = np.asarray(np.bincount(labels)[labels] >= FEWEST_ROWS)
    if len(np.unique(labels[found])) < 2 or not np.ptp(x[found], axis=0).any():
        raise CompileError(
            f"{kind}: needs more fit rows than classes, {FEWEST_ROWS} of a class or more, and "
            "features that vary"
        )
    return found


class LinearOpinion(MonitorEstimator):
    """Base: a linear score a class, ``weight_`` (classes, width) and ``bias_`` (classes,)."""

    default_taps: ClassVar[tuple[str, ...]] = ("penultimate",)
    most_taps: ClassVar[int | None] = None
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"rule": RULES}
    needs: ClassVar[Needs] = Needs.CLASSES

    weight_: Floats
    bias_: Floats

    def __init__(self, taps: tuple[str, ...] = (), rule: str = "mcc", seed: int = 0) -> None:
        self.taps = taps
        self.rule = rule
        self.seed = seed

    def least_bytes(self, recording: Recording) -> int:
        return 2 * recording.n_classes * recording.width(self.taps)  # weights of 16 bits or more

    def _fit(self, recording: Recording) -> None:
        """Needs labels of at least two classes. Learns from the labels, never from the model's
        answers."""
        labels = np.asarray(recording.labels)
        self.n_classes_ = recording.n_classes
        x = joined_values(recording, self.taps)
        self._choose(x, labels, recording.groups)
        self.weight_, self.bias_ = self._learn(x, labels)
        self.accuracy_ = float((self.answers(recording) == labels).mean())
        self.threshold_ = alarm_threshold(self.rule, recording, x, self._classify, self.seed)

    def _choose(self, x: Floats, labels: Integers, groups: Groups | None) -> None:
        """A hook: settle what is to be chosen before anything is learned."""

    def _learnable(self, x: Floats, labels: Integers) -> npt.NDArray[np.bool_]:  # noqa: ARG002
        """(n,): rows of classes that have enough of them to learn from."""
        return np.ones(len(labels), bool)

    def _coefficients(self, x: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Weights (classes, width) and biases of standardised features; of two classes, one row."""
        raise NotImplementedError

    def _learn(self, x: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Weights (classes, width) and biases (classes,) of the features as they are."""
        learnable = self._learnable(x, labels)
        x, labels = x[learnable], labels[learnable]
        scaler = StandardScaler()
        weight, bias = self._coefficients(scaler.fit_transform(x), labels)
        if len(weight) == 1:  # of two classes scikit-learn keeps the second against the first
            weight = np.concatenate([-weight, weight]) / 2
            bias = np.concatenate([-bias, bias]) / 2
        present = np.unique(labels)
        whole = np.zeros((self.n_classes_, x.shape[1]))
        biases = np.full(self.n_classes_, bias.min() + NO_CLASS)
        whole[present] = weight / scaler.scale_
        biases[present] = bias - whole[present] @ scaler.mean_
        return whole, biases

    def _classify(self, x: Floats, labels: Integers, judged: Floats) -> Floats:
        weight, bias = self._learn(x, labels)
        return np.asarray(judged @ weight.T + bias)

    def answers(self, recording: Recording) -> npt.NDArray[np.int64]:
        scores = joined_values(recording, self.taps) @ self.weight_.T + self.bias_
        return np.asarray(scores.argmax(axis=1))

    def lower(self, builder: Builder, predicted: int) -> Score:
        x = joined(builder, self.taps)
        scores = builder.node("affine", x, tables=[self.weight_.ravel(), self.bias_])
        return Score(log_odds_against(builder, scores, predicted), alarm_above=self.threshold_)

    def reason(self) -> str:
        return f"{self.what}: log-odds against this class are {{score}}, above {{threshold}}"

    def details(self) -> dict[str, Any]:
        return {
            "features": int(self.weight_.shape[1]),
            "weights": int(self.weight_.size),
            "accuracy_on_fit_rows": self.accuracy_,
            "rule": self.rule,
            "threshold": self.threshold_,
        }


class SecondOpinionMonitor(LinearOpinion):
    """Multinomial logistic regression with a ridge penalty, whose strength is chosen on a quarter
    of the fit rows, or of their groups."""

    kind: ClassVar[str] = "second_opinion"
    what: ClassVar[str] = "a second, linear classifier disagrees"
    source: ClassVar[str] = (
        "a linear probe of the hidden layers (Alain, Bengio, ICLR workshop 2017) that judges "
        "the answer"
    )

    def _choose(self, x: Floats, labels: Integers, groups: Groups | None) -> None:
        self.penalty_ = self._penalty(StandardScaler().fit_transform(x), labels, groups)

    def _coefficients(self, x: Floats, labels: Integers) -> tuple[Floats, Floats]:
        model = LogisticRegression(C=self.penalty_, max_iter=300).fit(x, labels)
        return np.asarray(model.coef_), np.asarray(model.intercept_)

    def _penalty(self, x: Floats, labels: Integers, groups: Groups | None) -> float:
        often = np.bincount(labels)[labels] >= 4  # a class must occur on both sides
        x, labels = x[often], labels[often]
        if len(np.unique(labels)) < 2:
            return PENALTIES[1]
        if groups is None:
            learn, judge = train_test_split(
                np.arange(len(x)), test_size=0.25, random_state=self.seed, stratify=labels
            )
        else:
            rng = np.random.default_rng(self.seed)
            learn, judge = cut(labels, (0.75, 0.25), rng, groups[often])
            judge = judge[np.isin(labels[judge], labels[learn])]
            if len(np.unique(labels[learn])) < 2 or not len(judge):
                return PENALTIES[1]

        def loss(penalty: float) -> float:
            model = LogisticRegression(C=penalty, max_iter=300).fit(x[learn], labels[learn])
            found: float = log_loss(
                labels[judge], model.predict_proba(x[judge]), labels=model.classes_
            )
            return found

        return min(PENALTIES, key=loss)

    def details(self) -> dict[str, Any]:
        return {**super().details(), "penalty": self.penalty_}


class MahalanobisGapMonitor(LinearOpinion):
    """Difference of Mahalanobis distances under one covariance of all classes, which is linear in
    the features: here as posterior log-odds of that Gaussian model."""

    kind: ClassVar[str] = "mahalanobis_gap"
    what: ClassVar[str] = "features lie closer to another class"
    source: ClassVar[str] = (
        "Lee, Lee, Lee, Shin: A Simple Unified Framework for Detecting Out-of-Distribution "
        "Samples and Adversarial Attacks, NeurIPS 2018, as the difference of two distances"
    )

    def _learnable(self, x: Floats, labels: Integers) -> npt.NDArray[np.bool_]:
        return with_spread(self.kind, x, labels)

    def _coefficients(self, x: Floats, labels: Integers) -> tuple[Floats, Floats]:
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto").fit(x, labels)
        return np.asarray(model.coef_), np.asarray(model.intercept_)
