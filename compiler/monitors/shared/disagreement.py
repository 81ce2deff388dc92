"""How sure must a second classifier be of another class, before the answer is doubted?

Its log-odds against the model's answer exceed 0 where it would answer otherwise itself. Errors are
rare, and few of them convince it so far: the threshold with the best MCC mostly lies lower. It is
read off the fit rows, each judged by a classifier that did not learn from it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.tuning import best_mcc_threshold, folds

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
# Features and labels to learn from, features to judge -> log-probabilities (n, classes) of the
# latter, unnormalised.
Classifier = Callable[[Floats, Integers, Floats], Floats]

RULES = ("mcc", "disagreement")


def alarm_threshold(
    rule: str, recording: Recording, x: Floats, classify: Classifier, seed: int
) -> float:
    """Log-odds (nats) above which a second classifier alarms: with ``rule`` "mcc" those with the
    best MCC on the rows of the recording, with features ``x`` (n, width), out of fold and but for
    moved copies; 0 with "disagreement", and where too few of the answers are wrong
    (``tuning.folds``)."""
    if rule == "disagreement":
        return 0.0
    wrong, labels = ~recording.correct, np.asarray(recording.labels)
    judged: list[npt.NDArray[np.int64]] = []
    odds: list[Floats] = []
    for learn, every in folds(wrong, seed, recording.groups):
        judge = every[~recording.moved[every]]
        if len(np.unique(labels[learn])) < 2:
            return 0.0
        scores = classify(x[learn], labels[learn], x[judge])
        judged.append(judge)
        odds.append(odds_against(scores, recording.predicted[judge]))
    if not judged:
        return 0.0
    return float(best_mcc_threshold(np.concatenate(odds), wrong[np.concatenate(judged)]))


def odds_against(scores: Floats, predicted: npt.NDArray[np.integer]) -> Floats:
    """(n,): log-odds (nats) that another class than the predicted (n,) is the right one, from
    unnormalised log-probabilities (n, classes); as ``vectors.log_odds_against``."""
    at = np.arange(len(scores))
    others = scores.copy()
    others[at, predicted] = -np.inf
    return np.asarray(logsumexp(others, axis=1) - scores[at, predicted])
