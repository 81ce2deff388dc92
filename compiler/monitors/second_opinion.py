"""A second opinion: another classifier on the tapped features judges the model's answer.

The score is its own log-odds against the predicted class, which is high where it disagrees and
moderate where it is unsure itself. ``rule`` is that of ``disagreement.alarm_threshold``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from edgemon.compiler.data.splits import cut
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import Analysis, MonitorEstimator, Needs, Score
from edgemon.compiler.monitors.shared.class_scores import CODED_BYTES, ClassScores
from edgemon.compiler.monitors.shared.disagreement import RULES, alarm_threshold, odds_against
from edgemon.compiler.monitors.shared.vectors import Block, blocks_of, log_odds_against, values_of
from edgemon.compiler.program.ir import Builder, Tap
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.intervals import auroc_error
from edgemon.compiler.statistics.tuning import FEWEST_ERRORS

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Linear = tuple[Floats, Floats]  # coefficients and intercepts

PENALTIES = tuple(0.1 * 2**k for k in range(9))  # inverse strengths, the strongest first
UNCHOSEN = 0.3  # where too few errors tell which is better
MOST_GIVEN = 0.002  # of the AUROC for a stronger penalty: few errors have a large standard error
TOLERANCE = 1e-4  # of the gradient, at which the regression ends: with 1e-3 the worth of a penalty
# depends on where it happened to stop
FEWEST_ROWS = 2  # of a class, from which a covariance is learned
BANDS, MOST_BANDS = 8, 64  # of the last map
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


def _rows(labels: Integers) -> int:
    """Rows of coefficients of a regression on these: of two classes, one."""
    classes = len(np.unique(labels))
    return classes if classes > 2 else 1


def _regressed(model: LogisticRegression, x: npt.NDArray[np.float32], labels: Integers) -> Linear:
    """Coefficients and intercepts; of float32 in half the time."""
    model.fit(x, labels)
    return model.coef_.astype(np.float64), model.intercept_.astype(np.float64)


class LinearOpinion(MonitorEstimator):
    """Base: a linear score a class, ``weight_`` (classes, width) and ``bias_`` (classes,)."""

    default_taps: ClassVar[tuple[str, ...]] = ("penultimate",)
    most_taps: ClassVar[int | None] = None
    choices: ClassVar[dict[str, tuple[str, ...]]] = {"rule": RULES}
    needs: ClassVar[Needs] = Needs.CLASSES
    learns_from_moved: ClassVar[bool] = True
    bands: int = 1  # of a feature map, at most: in each, channels have means of their own

    weight_: Floats
    bias_: Floats

    def __init__(self, taps: tuple[str, ...] = (), rule: str = "mcc", seed: int = 0) -> None:
        self.taps = taps
        self.rule = rule
        self.seed = seed

    def least_bytes(self, recording: Recording) -> int:
        of_row = sum(
            b.width * (b.weight_bytes if b.whole else CODED_BYTES)
            for b in self._blocks(recording.taps)
        )
        return recording.n_classes * of_row

    def smaller(self, recording: Recording) -> MonitorEstimator | None:  # noqa: ARG002
        """Without the last of several layers."""
        if len(self.taps) == self.least_taps:
            return None
        return self.__class__(**{**self.get_params(deep=False), "taps": self.taps[:-1]})

    @property
    def stored_as(self) -> str:
        return f"weights of {len(self.taps)} layer{'s' * (len(self.taps) > 1)}"

    def _blocks(self, known: Sequence[Tap]) -> tuple[Block, ...]:
        taps = {tap.name: tap for tap in known}
        logits = next((n for n in self.taps if taps[n].probabilities), "")
        return blocks_of([taps[name] for name in self.taps], logits=logits, bands=self.bands)

    def _fit(self, recording: Recording) -> None:
        """Needs labels of at least two classes. Learns from the labels, never from the model's
        answers."""
        labels = np.asarray(recording.labels)
        self.n_classes_ = recording.n_classes
        self.blocks_ = self._blocks(recording.taps)
        x = values_of(recording, self.blocks_)
        self._choose(x, labels, recording)
        self.weight_, self.bias_ = self._learn(x, labels)
        self.scores_ = self._scores(x)
        answers = (x @ self.weight_.T + self.bias_).argmax(axis=1)
        self.accuracy_ = float((answers == labels)[~recording.moved].mean())
        self.threshold_ = alarm_threshold(self.rule, recording, x, self._classify, self.seed)

    def _choose(self, x: Floats, labels: Integers, recording: Recording) -> None:
        """A hook: settle what is to be chosen before anything is learned."""

    def _learnable(self, x: Floats, labels: Integers) -> npt.NDArray[np.bool_]:  # noqa: ARG002
        """(n,): rows of classes that have enough of them to learn from."""
        return np.ones(len(labels), bool)

    def _coefficients(self, x: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Weights (classes, width) and biases of standardised features, of which each block has a
        variance of 1 in all; of two classes, one row."""
        raise NotImplementedError

    def _learn(self, x: Floats, labels: Integers) -> tuple[Floats, Floats]:
        """Weights (classes, width) and biases (classes,) of the features as they are."""
        learnable = self._learnable(x, labels)
        x, labels = x[learnable], labels[learnable]
        mean, factor = self._standard(x)
        found = self._coefficients((x - mean) * factor, labels)
        return self._of_features(found, np.unique(labels), mean, factor)

    def _standard(self, x: npt.NDArray[Any]) -> tuple[Floats, Floats]:
        """(width,) each: ``(x - mean) * factor`` are standardised features, of which each block has
        a variance of 1 in all."""
        codes = np.concatenate([np.full(b.width, b.tap.step) for b in self.blocks_])
        share = np.concatenate([np.full(b.width, b.width**-0.5) for b in self.blocks_])
        scaler = StandardScaler().fit(x)
        # No feature is spread wider than its tap's codes are apart: what other kernels change.
        return np.asarray(scaler.mean_), share / np.maximum(scaler.scale_, codes)

    def _of_features(
        self, found: tuple[Floats, Floats], present: Integers, mean: Floats, factor: Floats
    ) -> tuple[Floats, Floats]:
        """Weights and biases of all classes and of the features as they are, from what was
        ``found`` of the classes that are ``present`` and of standardised features."""
        weight, bias = found
        if len(weight) == 1:  # of two classes scikit-learn keeps the second against the first
            weight = np.concatenate([-weight, weight]) / 2
            bias = np.concatenate([-bias, bias]) / 2
        whole = np.zeros((self.n_classes_, len(mean)))
        biases = np.full(self.n_classes_, bias.min() + NO_CLASS)
        whole[present] = weight * factor
        biases[present] = bias - whole[present] @ mean
        return whole, biases

    def _classify(self, x: Floats, labels: Integers, judged: Floats) -> Floats:
        weight, bias = self._learn(x, labels)
        return np.asarray(judged @ weight.T + bias)

    def answers(self, recording: Recording) -> npt.NDArray[np.int64]:
        scores = values_of(recording, self.blocks_) @ self.weight_.T + self.bias_
        return np.asarray(scores.argmax(axis=1))

    def _scores(self, x: Floats) -> list[ClassScores]:
        """Of each block, the first of which has the biases."""
        ends = np.cumsum([block.width for block in self.blocks_])[:-1]
        parts = np.split(self.weight_, ends, axis=1), np.split(x, ends, axis=1)
        biases = [self.bias_, *[np.zeros_like(self.bias_)] * len(ends)]
        return [
            ClassScores.of(weight, bias, values, whole=block.whole)
            for block, bias, weight, values in zip(self.blocks_, biases, *parts, strict=True)
        ]

    def lower(self, builder: Builder, predicted: int) -> Score:
        first, *others = (
            scores.lower(builder, block.lower(builder))
            for block, scores in zip(self.blocks_, self.scores_, strict=True)
        )
        for other in others:
            first = builder.node("add", first, other)
        return Score(log_odds_against(builder, first, predicted), alarm_above=self.threshold_)

    def reason(self) -> str:
        return f"{self.what}: log-odds against this class are {{score}}, above {{threshold}}"

    def details(self) -> dict[str, Any]:
        return {
            "features": int(self.weight_.shape[1]),
            "blocks": [
                {"tap": b.tap.name, "of": b.statistic, "bands": b.bands} for b in self.blocks_
            ],
            "weights": int(self.weight_.size),
            "accuracy_on_fit_rows": self.accuracy_,
            "rule": self.rule,
            "threshold": self.threshold_,
        }


class SecondOpinionMonitor(LinearOpinion):
    """Multinomial logistic regression on the logits, the features in front of them, and the spatial
    deviations of the last feature map, with a ridge penalty. Of that map it reads means of channels
    in up to ``bands`` horizontal bands: what is above in an image differs from what is below.

    Each of these blocks has the same variance as a whole, so that one penalty weighs few logits and
    many features alike (block scaling: Westerhuis, Kourti, MacGregor, J. Chemometrics 1998). Its
    strength is chosen on a quarter of the fit rows, or of their groups, by how well the score finds
    the model's errors: the strongest within one standard error of the best, or ``MOST_GIVEN``,
    since a model that was trained on these rows makes weak penalties look good."""

    kind: ClassVar[str] = "second_opinion"
    default_taps: ClassVar[tuple[str, ...]] = ("penultimate", "logits", "last_map")
    what: ClassVar[str] = "a second, linear classifier disagrees"
    source: ClassVar[str] = (
        "a linear probe of the hidden layers (Alain, Bengio, ICLR workshop 2017) that judges "
        "the answer"
    )

    limits: ClassVar[dict[str, tuple[float, float]]] = {"bands": (1, MOST_BANDS)}

    def __init__(
        self, taps: tuple[str, ...] = (), rule: str = "mcc", bands: int = BANDS, seed: int = 0
    ) -> None:
        super().__init__(taps, rule, seed)
        self.bands = bands

    def smaller(self, recording: Recording) -> MonitorEstimator | None:
        """With fewer bands, then without the last of several layers."""
        bands = max(b.bands for b in self._blocks(recording.taps))
        if bands == 1:
            return super().smaller(recording)
        return self.__class__(**{**self.get_params(deep=False), "bands": bands // 2})

    @property
    def stored_as(self) -> str:
        fewer = f" in {self.bands} bands" if 1 < self.bands < BANDS else ""
        return super().stored_as + fewer

    def analyse(self, model: Model) -> Analysis:
        """The last map where there is one, and the logits where they are fewer than the features:
        there are as many weights for a logit as for a feature."""
        found = tap_rules.suggest(model.graph)
        features = sum(t.length for t in found.get("penultimate", ()))
        wanted = {
            "penultimate": True,
            "logits": "logits" in found and model.n_classes <= features,
            "last_map": "last_map" in found,
        }
        return Analysis(tuple(rule for rule in self.default_taps if wanted[rule]))

    def _choose(self, x: Floats, labels: Integers, recording: Recording) -> None:
        self.start_: Linear | None = None
        self.penalty_ = self._penalty(x, labels, recording)

    def _coefficients(self, x: Floats, labels: Integers) -> Linear:
        """Begins where the regression with this penalty ended on three quarters of the rows."""
        model = self._regression(self.penalty_)
        if self.start_ is not None and len(self.start_[0]) == _rows(labels):
            model.coef_, model.intercept_ = self.start_
        return _regressed(model, x.astype(np.float32), labels)

    @staticmethod
    def _regression(penalty: float = UNCHOSEN) -> LogisticRegression:
        """Starts where it ended before."""
        return LogisticRegression(C=penalty, max_iter=300, tol=TOLERANCE, warm_start=True)

    def _penalty(self, x: Floats, labels: Integers, recording: Recording) -> float:
        often = np.bincount(labels)[labels] >= 4  # a class must occur on both sides
        short, labels, groups = x.astype(np.float32)[often], labels[often], recording.groups
        predicted, wrong = recording.predicted[often], ~recording.correct[often]
        moved = recording.moved[often]
        if len(np.unique(labels)) < 2:
            return UNCHOSEN
        if groups is None:
            learn, judge = train_test_split(
                np.arange(len(labels)), test_size=0.25, random_state=self.seed, stratify=labels
            )
        else:
            rng = np.random.default_rng(self.seed)
            learn, judge = cut(labels, (0.75, 0.25), rng, groups[often])
            judge = judge[np.isin(labels[judge], labels[learn])]
            if len(np.unique(labels[learn])) < 2 or not len(judge):
                return UNCHOSEN
        as_given = judge[~moved[judge]]
        if wrong[as_given].sum() >= FEWEST_ERRORS:  # else errors of copies have to do
            judge = as_given
        errors = int(wrong[judge].sum())
        if min(errors, len(judge) - errors) < FEWEST_ERRORS:
            return UNCHOSEN
        found: dict[float, float] = {}
        ends: dict[float, Linear] = {}
        mean, factor = self._standard(short[learn])
        standard = (short - mean.astype(np.float32)) * factor.astype(np.float32)
        model, present = self._regression(), np.unique(labels[learn])
        still, as_it_is = np.zeros_like(mean), np.ones_like(mean)
        for penalty in PENALTIES:
            model.set_params(C=penalty)
            ends[penalty] = _regressed(model, standard[learn], labels[learn])
            weight, bias = self._of_features(ends[penalty], present, still, as_it_is)
            odds = odds_against(standard[judge] @ weight.T + bias, predicted[judge])
            found[penalty] = float(roc_auc_score(wrong[judge], odds))
            best = max(found.values())
            enough = best - min(MOST_GIVEN, auroc_error(best, errors, len(judge) - errors))
            if found[penalty] < enough:  # weaker ones are worse still, and take the longest
                break
        chosen = next(penalty for penalty, auroc in found.items() if auroc >= enough)
        self.start_ = ends[chosen]
        return chosen

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
