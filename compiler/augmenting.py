"""``compile --augment``: signals that classify features also learn from moved copies of fit images,
where these are few and the copies help.

Copies keep their labels. Neither what is usual is learned from them, nor how much each signal of a
fusion is worth, nor a threshold. They help most where fit rows of a class are few; where the model
is wrong on rows as they are for other reasons than on moved ones, they mislead: so it is tried.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import roc_auc_score

from edgemon.compiler.copies import DRAWS, Indices, made, with_copies
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.errors import DataError
from edgemon.compiler.faults.geometry import moved
from edgemon.compiler.faults.properties import Bytes
from edgemon.compiler.faults.registry import generator
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.monitors.shared.disagreement import odds_against
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, Reporter, unseen
from edgemon.compiler.statistics import tuning

Floats = npt.NDArray[np.float64]

OPTION = "--augment"
FEW = 10_000  # fit images, up to which copies are tried unless the user says otherwise
UNASKED = 2  # copies of a row, where that makes no more than these
MOST_WRONG = 0.05  # of the fit rows: more errors teach what they look like by themselves
WIDEST = 1024  # features, all in all, on which it is tried whether copies help
FALSE_ALARMS = 0.1  # up to which the area below a ROC curve counts there
LEAST_GAIN = 0.005  # of that area
MOST_CHANNELS = 4  # of an image: a longer last axis is one of positions
FEWEST_ROWS = 2  # of a class, from which a covariance is learned
NO_CLASS = -30.0  # log-probability (nats) of a class without rows


def copies_wanted(
    count: int | None, rows: Dataset, estimators: Sequence[MonitorEstimator], reporter: Reporter
) -> int:
    """Copies of each fit row: what ``--augment`` says; if None, a few of images of bytes that are
    few. Raises DataError where copies are asked for of other rows; warns where they are idle."""
    shape = rows.shape[1:]
    images = rows.dtype == np.uint8 and (
        len(shape) == 2 or (len(shape) == 3 and shape[2] <= MOST_CHANNELS)
    )
    idle = not _learners(estimators)
    if count and not images:
        raise DataError(
            f"{rows.source}: {OPTION} moves images of bytes, (N, H, W) or (N, H, W, C) of at most "
            f"{MOST_CHANNELS} channels; these rows are {rows.dtype} of the shape {rows.shape}; "
            f"leave {OPTION} out, or give images"
        )
    if count and idle:
        reporter.warn(
            f"{OPTION} changes nothing here: only second_opinion, mahalanobis_gap, mirror and "
            "prototype_odds learn from moved copies, alone or in a fusion"
        )
    if count is None:
        count = min(UNASKED, FEW // max(1, len(rows))) if images else 0
    return 0 if idle else count


def moved_copies(
    data: Dataset, count: int, seed: int, scratch: Path, progress: Progress = unseen
) -> Dataset:
    """So many copies of all rows, each shifted, scaled and turned by a little."""
    every = np.arange(len(data))
    parts = [(partial(_moved, copy, seed), every) for copy in range(count)]
    return made(data, parts, scratch, progress)


def augmented(fit: Recording, copies: Recording, rows: int, scratch: Path) -> Recording:
    """``fit``, which begins with so many rows as they are, then ``copies`` of all of these, once
    or several times."""
    return with_copies(fit, copies, copies.rows % rows, scratch, "augmented")


def may_help(fit: Recording, estimators: Sequence[MonitorEstimator]) -> bool:
    """Are errors of the fit rows so few that those of copies may tell more, and features so many
    that it can be tried?"""
    few = int((~fit.correct).sum()) <= MOST_WRONG * len(fit)
    return few and bool(_read(fit, estimators))


def copies_help(fit: Recording, estimators: Sequence[MonitorEstimator], seed: int) -> bool:
    """Does a linear discriminant of the features that they read find more of the model's errors
    where it learned from copies too? Out of fold, on rows as they are. Where too few of these are
    wrong to tell, errors are to be had of copies alone: it is enough that there are some."""
    as_it_is = np.flatnonzero(fit.own)
    own, labels, groups = fit.take(as_it_is), np.asarray(fit.labels), fit.groups
    assert groups is not None
    if (~own.correct).sum() < tuning.FEWEST_ERRORS:
        return _errors(fit) >= tuning.FEWEST_ERRORS
    x = _features(fit, estimators)
    odds = np.full((2, len(own)), np.nan)
    for learn, judge in tuning.folds(~own.correct, seed, groups[as_it_is]):
        known = np.isin(groups, groups[as_it_is[learn]])
        for found, rows in zip(odds, (known & ~fit.moved, known), strict=True):
            scores = _discriminant(x[rows], labels[rows], x[as_it_is[judge]], fit.n_classes)
            found[judge] = odds_against(scores, own.predicted[judge])
    judged = np.isfinite(odds).all(axis=0)
    wrong = ~own.correct[judged]
    if not 0 < wrong.sum() < len(wrong):
        return False
    without, with_them = (
        roc_auc_score(wrong, of[judged], max_fpr=FALSE_ALARMS) for of in odds
    )  # fmt: skip
    return bool(with_them >= without + LEAST_GAIN)


def facts(count: int, fit: Recording, *, used: bool) -> schema.Augmented:
    """What the manifest says of copies that were ``used``, or tried."""
    return {
        "copies_of_each": count, "copies": int(fit.moved.sum()), "errors": _errors(fit),
        "used": used,
    }  # fmt: skip


def sentence(found: schema.Augmented) -> str:
    """For people."""
    copies = (
        f"{found['copies']:,} copies of fit rows, shifted, scaled and turned by a little, of which "
        f"the model has {found['errors']:,} wrong"
    )
    if found["used"]:
        return (
            f"signals that classify features also learned from {copies} ({OPTION} 0: without); "
            "thresholds are set on rows as they are"
        )
    return (
        f"no signal learned from {copies}: it was tried, and did not help to find errors "
        f"({OPTION} {found['copies_of_each']}: use them all the same)"
    )


def _errors(fit: Recording) -> int:
    """Copies that the model has wrong."""
    return int((~fit.correct[fit.moved]).sum())


def _learners(estimators: Sequence[MonitorEstimator]) -> list[MonitorEstimator]:
    return [m for e in estimators for m in (e, *e.members) if m.learns_from_moved]


def _read(fit: Recording, estimators: Sequence[MonitorEstimator]) -> list[str]:
    """What the learners read, but for layers with which features would be too many."""
    found: list[str] = []
    for name in dict.fromkeys(tap for m in _learners(estimators) for tap in m.taps):
        if fit.width([*found, name]) <= WIDEST:
            found.append(name)
    return found


def _features(fit: Recording, estimators: Sequence[MonitorEstimator]) -> Floats:
    """(n, width)"""
    return np.concatenate([fit.features(name) for name in _read(fit, estimators)], axis=1)


def _discriminant(x: Floats, labels: Indices, judged: Floats, classes: int) -> Floats:
    """(n, classes): log-probabilities; classes with one row have no spread, and are none."""
    spread = np.bincount(labels)[labels] >= FEWEST_ROWS
    found = np.full((len(judged), classes), NO_CLASS)
    if len(np.unique(labels[spread])) > 1:
        fitted = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        scores = fitted.fit(x[spread], labels[spread]).decision_function(judged)
        each = np.stack([-scores, scores], 1) / 2 if scores.ndim == 1 else scores
        found[:, fitted.classes_] = log_softmax(each, axis=1)
    return found


def _moved(copy: int, seed: int, images: Bytes, numbers: Indices) -> Bytes:
    found = np.empty_like(images)
    for i, row in enumerate(numbers.tolist()):
        draws = generator("moved", copy, seed + DRAWS, row)
        found[i] = np.rint(moved(images[i].astype(np.float64), draws))
    return found
