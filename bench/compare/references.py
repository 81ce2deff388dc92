"""References: how far one comes on the same taps where nothing limits bytes and time.

None of them ships: they run here in float64, on scikit-learn. They read what the fusions of a case
read (``read_by_references``), and are judged on the same rows with thresholds at the same promise.

``knn`` (Sun et al., ICML 2022), ``mahalanobis`` (Lee et al., NeurIPS 2018; all layers in one
Gaussian, where the paper weighs them) and ``vim`` (Wang et al., CVPR 2022) know no errors.
``logistic`` and ``mlp`` learn right and wrong; ``logistic_classes`` and ``mlp_classes`` learn the
classes, and their score is their log-odds against the model's answer. ``together`` weighs the
others and the softmax by errors of the rows from which fusions learn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.covariance import LedoitWolf
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.neighbors import NearestNeighbors
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from edgemon.bench.compare.judges import POOL, RecordedRows, Scores
from edgemon.bench.compare.read_by_references import Features, Floats, Integers, Reads
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.shared.disagreement import odds_against
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.tuning import FEWEST_ERRORS

TOGETHER = "together"
FOLDS = 3  # that choose a penalty
PENALTIES = (0.003, 0.01, 0.03, 0.1, 0.3)  # inverse strengths, the strongest first
UNITS, DECAY, EPOCHS = 64, 1.0, 60  # of the networks
NO_CLASS = -30.0  # log-probability (nats) of a class without fit rows

Score = Callable[[Features], Floats]  # (n,), higher: less to be relied on


@dataclass(frozen=True, eq=False)
class Lesson:
    """The fit rows: features, classes (n,), is the model wrong (n,)?, and groups."""

    features: Features
    labels: Integers
    wrong: npt.NDArray[np.bool_]
    groups: npt.NDArray[Any] | None
    seed: int


@dataclass(frozen=True)
class Reference:
    """``what`` it is, what it ``reads``, and how it learns: raises CompileError if it cannot from
    these rows."""

    what: str
    reads: str
    learn: Callable[[Lesson], Score]


@dataclass(frozen=True, eq=False)
class ReferenceScores:
    """Scores of references on the rows of a case, by name; ``left_out``: why one has none."""

    scores: dict[str, Scores]
    left_out: dict[str, str]
    softmax: Scores

    @classmethod
    def of(cls, rows: RecordedRows, reads: Reads, names: Iterable[str], seed: int) -> Self:
        def features(part: Recording) -> Features:
            return Features.of(part, reads, rows.logits)

        fit = rows.fit.as_given
        lesson = Lesson(features(fit), np.asarray(fit.labels), ~fit.correct, fit.groups, seed)
        pool = [features(part) for part in rows.pool]
        novel = {name: features(part) for name, part in rows.novel.items()}

        def everywhere(score: Score) -> Scores:
            found: Scores = {POOL: np.concatenate([score(part) for part in pool])}
            return found | {name: score(part) for name, part in novel.items()}

        scores: dict[str, Scores] = {}
        left_out: dict[str, str] = {}
        for name in names:
            try:
                scores[name] = everywhere(REFERENCES[name].learn(lesson))
            except CompileError as error:
                left_out[name] = str(error)
        return cls(scores, left_out, everywhere(lambda of: of.softmax_odds))

    def together(self, wrong: npt.NDArray[np.bool_], learn: npt.NDArray[np.int64]) -> Scores:
        """Of all of them and the softmax: a logistic regression of errors on these rows of the
        pool, from which a fusion learns too."""
        columns = [self.softmax, *self.scores.values()]
        joined = {key: np.column_stack([c[key] for c in columns]) for key in self.softmax}
        fitted = make_pipeline(StandardScaler(), LogisticRegression())
        fitted.fit(joined[POOL][learn], wrong[learn])
        return {key: np.asarray(fitted.decision_function(x)) for key, x in joined.items()}


def _penultimate(of: Features) -> Floats:
    if of.penultimate is None:
        raise CompileError("no tensor in front of the logits can be read")
    return of.penultimate


def _knn(lesson: Lesson) -> Score:
    """Distance to the nearest fit row, of vectors of length 1."""

    def unit(of: Features) -> Floats:
        x = _penultimate(of)
        return np.asarray(x / np.maximum(np.linalg.norm(x, axis=1, keepdims=True), 1e-12))

    known = NearestNeighbors(n_neighbors=1).fit(unit(lesson.features))
    return lambda of: np.asarray(known.kneighbors(unit(of))[0][:, 0])


def _mahalanobis(lesson: Lesson) -> Score:
    """Least squared distance to the mean of a class, with one covariance for all."""
    scaler = StandardScaler().fit(lesson.features.every)
    x = scaler.transform(lesson.features.every)
    classes, at = np.unique(lesson.labels, return_inverse=True)
    means = np.stack([x[at == c].mean(axis=0) for c in range(len(classes))])
    shared = LedoitWolf(assume_centered=True).fit(x - means[at])
    whiten = np.linalg.cholesky(shared.precision_)
    centres = NearestNeighbors(n_neighbors=1).fit(means @ whiten)
    return lambda of: np.asarray(
        centres.kneighbors(scaler.transform(of.every) @ whiten)[0][:, 0] ** 2
    )


def _vim(lesson: Lesson) -> Score:
    """The part of the features outside the principal half of their space, as a logit, against the
    energy of the others. The last layer is read off features and logits."""
    x, logits = _penultimate(lesson.features), lesson.features.logits
    last = LinearRegression().fit(x, logits)
    origin = -np.linalg.pinv(np.atleast_2d(last.coef_)) @ np.atleast_1d(last.intercept_)
    centred = x - origin
    _, axes = np.linalg.eigh(centred.T @ centred / len(x))  # the least first
    rest = axes[:, : x.shape[1] // 2]

    def residual(features: Floats) -> Floats:
        return np.asarray(np.linalg.norm((features - origin) @ rest, axis=1))

    size = residual(x).mean()
    if not size > 0:
        raise CompileError("the penultimate features have no residual outside their main space")
    alpha = logits.max(axis=1).mean() / size
    return lambda of: np.asarray(
        alpha * residual(_penultimate(of)) - logsumexp(of.logits, axis=1)
    )  # fmt: skip


def _logistic(lesson: Lesson, x: Floats, target: Integers) -> BaseEstimator:
    kind = StratifiedKFold if lesson.groups is None else StratifiedGroupKFold
    parts = kind(FOLDS, shuffle=True, random_state=lesson.seed)
    if np.bincount(target).max() < FOLDS:
        raise CompileError(f"no class has {FOLDS} fit rows to choose a penalty by")
    return GridSearchCV(
        LogisticRegression(max_iter=300, tol=1e-3), {"C": PENALTIES},
        scoring="roc_auc" if target.max() == 1 else "accuracy",
        cv=list(parts.split(x, target, lesson.groups)), refit=_strongest,
    )  # fmt: skip


def _strongest(found: Mapping[str, Any]) -> int:
    """The position of the strongest penalty within a standard error of the best (Breiman et al.,
    Classification and Regression Trees, 1984)."""
    mean, spread = found["mean_test_score"], found["std_test_score"]
    best = int(np.argmax(mean))
    return int(np.argmax(mean >= mean[best] - spread[best] / FOLDS**0.5))


def _network(lesson: Lesson, x: Floats, target: Integers) -> BaseEstimator:  # noqa: ARG001
    return MLPClassifier((UNITS,), alpha=DECAY, max_iter=EPOCHS, random_state=lesson.seed)


Maker = Callable[[Lesson, Floats, Integers], BaseEstimator]


def _of_errors(make: Maker) -> Callable[[Lesson], Score]:
    def learn(lesson: Lesson) -> Score:
        wrong = lesson.wrong
        fewest = min(int(wrong.sum()), int((~wrong).sum()))
        if fewest < FEWEST_ERRORS:
            raise CompileError(
                f"{fewest} fit rows are {'wrong' if wrong.mean() < 0.5 else 'right'}; right and "
                f"wrong are learned from {FEWEST_ERRORS} or more"
            )
        x, target = lesson.features.with_order, wrong.astype(int)
        fitted = _fitted(make, lesson, x, target)
        return lambda of: _difference(fitted.predict_log_proba(of.with_order))

    return learn


def _of_classes(make: Maker) -> Callable[[Lesson], Score]:
    def learn(lesson: Lesson) -> Score:
        present = np.unique(lesson.labels)
        if len(present) < 2:
            raise CompileError("the fit rows have one class")
        fitted = _fitted(make, lesson, lesson.features.every, lesson.labels)

        def score(of: Features) -> Floats:
            scores = np.full_like(of.logits, NO_CLASS)
            scores[:, present] = np.maximum(fitted.predict_log_proba(of.every), NO_CLASS)
            return odds_against(scores, of.predicted)

        return score

    return learn


def _fitted(make: Maker, lesson: Lesson, x: Floats, target: Integers) -> Any:
    pipeline = make_pipeline(StandardScaler(), make(lesson, x, target))
    with warnings.catch_warnings():  # a network learns for so many epochs, and no longer
        warnings.simplefilter("ignore", ConvergenceWarning)
        return pipeline.fit(x, target)


def _difference(logs: Floats) -> Floats:
    return np.asarray(logs[:, 1] - np.maximum(logs[:, 0], NO_CLASS))


EVERY, ORDER = "every feature", "every feature, the logits in descending order, the softmax"
NET = f"a network of {UNITS} units"
REFERENCES = {
    "knn": Reference("distance to the nearest fit row", "the penultimate features", _knn),
    "mahalanobis": Reference("distance to the nearest class, full covariance", EVERY, _mahalanobis),
    "vim": Reference("residual of the features against energy", "penultimate and logits", _vim),
    "logistic": Reference("logistic regression of errors", ORDER, _of_errors(_logistic)),
    "mlp": Reference(f"{NET} that learns errors", ORDER, _of_errors(_network)),
    "logistic_classes": Reference(
        "logistic regression of classes", EVERY, _of_classes(_logistic)
    ),
    "mlp_classes": Reference(f"{NET} that learns classes", EVERY, _of_classes(_network)),
}  # fmt: skip
NAMES = (*REFERENCES, TOGETHER)
