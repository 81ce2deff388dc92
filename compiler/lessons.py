"""Rows from which fusions learn, apart from those on which their members were fitted and from those
that set thresholds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.splits import Splits, divide
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.promise.calibration import drawn, enough
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics import tuning

LEARN_SHARE = 0.5  # of the threshold rows at most, from which fusions learn
LEAST_SHARE = 0.2
LEARN_ERRORS = 200  # wrong rows from which weights are learned well enough: more set thresholds
# Of the threshold rows' share of errors, less its standard error: fit rows that the model did not
# learn by heart have that or more.
ALIKE = 0.8
MANY_RIGHT = 2_000  # right threshold rows, of which a part does as well
MOST_CROSSED = 1 << 22  # features of all fit rows: members are fitted on them several times
FEWEST_CROSSED = 100  # errors among them
FIT_SHARE = 1 / 3  # of the fit rows, from which fusions learn where threshold rows are too few


@dataclass(frozen=True, eq=False)
class Lessons:
    """Rows for estimators that learn in two steps: those on which they are fitted, and those on
    which they then see what their members are worth: with ``copies``, changed ones of fit rows on
    which the members were not fitted. Without ``held_out`` they see it on the fit rows
    themselves, each judged by members that did not learn from it."""

    fit: Recording
    held_out: Recording | None
    copies: Recording | None = None

    @property
    def said(self) -> str:
        """Which rows teach a fusion, for people."""
        if self.held_out is None:
            rows = len(self.fit.without_moved)
            return f"all {rows:,} fit rows, each judged by signals fitted without it"
        part = f"{len(self.held_out):,} rows on which no signal was fitted"
        return part if self.copies is None else f"{part}, and {len(self.copies):,} changed copies"


def lessons(
    estimators: Sequence[MonitorEstimator], rows: Splits[Recording], promise: Promise, seed: int
) -> tuple[Lessons, Recording]:
    """Also the threshold rows that are left for thresholds."""
    first = next((e for e in estimators if e.learns_from_held_out), None)
    correct = rows.threshold.correct
    if first is None or (
        rows.fit.changed is None and crosses(rows.fit, correct, first.taps, first.seed)
    ):
        return Lessons(rows.fit, None), rows.threshold
    own_seed = first.seed
    own = threshold_halves(rows.threshold, promise, own_seed, seed, len(estimators))
    if own is not None and rows.fit.changed is None:
        return Lessons(rows.fit, own[0]), own[1]
    if own is not None:
        kept, apart = copies_apart(rows.fit, own_seed)
        return Lessons(kept, own[0], apart), own[1]
    kept, apart = divided(rows.fit, FIT_SHARE, own_seed)
    return Lessons(kept, apart.without_moved), rows.threshold


def crosses(fit: Recording, correct: npt.NDArray[np.bool_], taps: Sequence[str], seed: int) -> bool:
    """Do fusions of these taps learn from the fit rows, so that all threshold rows set thresholds?
    Where threshold rows are few, and the model is wrong on fit rows about as often as on them (of
    which only this is looked at, ``correct`` (n,)): its errors there are like those it makes
    elsewhere, while rows that it knows by heart are not."""
    own = fit.without_moved
    wrong = ~own.correct
    if correct.sum() > MANY_RIGHT or len(own) * fit.width(taps) > MOST_CROSSED:
        return False
    share = float((~correct).mean())
    error = np.sqrt(share * (1 - share) / len(correct))  # of few rows it may be chance
    if wrong.sum() < FEWEST_CROSSED or wrong.mean() < ALIKE * (share - error):
        return False
    # Fewer folds: one without right or wrong rows, which nobody would judge.
    return len(tuning.folds(~fit.correct, seed, fit.groups)) == tuning.FOLDS


def threshold_halves(
    rows: Recording, promise: Promise, seed: int, drawing_seed: int, monitors: int = 1
) -> tuple[Recording, Recording] | None:
    """Threshold rows from which fusions learn, and the rest, on which thresholds are set; None
    where these would be too few. Of rows in groups only the division tells how many groups of the
    rest have a row that the promise concerns."""
    found = drawn(rows, promise, drawing_seed)
    if not learns_from_thresholds(found.correct, promise, monitors):
        return None
    rest, learn = divided(rows, learn_share(rows.correct), seed)
    return (learn, rest) if enough(drawn(rest, promise, drawing_seed), promise, monitors) else None


def learn_share(correct: npt.NDArray[np.bool_]) -> float:
    """Of threshold rows (n,), the share from which fusions learn: half of them, or less where
    errors are many."""
    errors = max(1, int((~correct).sum()))
    return min(LEARN_SHARE, max(LEAST_SHARE, LEARN_ERRORS / errors))


def learns_from_thresholds(
    correct: npt.NDArray[np.bool_], promise: Promise, monitors: int = 1
) -> bool:
    """Are these threshold rows (n,), or one of each group, enough for fusions to learn from half
    of them?"""
    return int(promise.concerns(correct).sum()) >= 3 * promise.rows_needed(monitors)


def copies_apart(fit: Recording, seed: int) -> tuple[Recording, Recording]:
    """Fit rows without some of the changed copies, and those: all of a share of the groups."""
    assert fit.changed is not None
    _, apart = divide(fit.correct, FIT_SHARE, seed, fit.groups)
    out = np.zeros(len(fit), bool)
    out[apart] = fit.changed[apart]
    return fit.take(np.flatnonzero(~out)), fit.take(np.flatnonzero(out))


def divided(rows: Recording, share: float, seed: int) -> tuple[Recording, Recording]:
    """All but a share of the rows, and that share; see ``splits.divide``. Raises CompileError where
    groups are so few that either is empty."""
    first, second = divide(rows.correct, share, seed, rows.groups)
    if rows.groups is not None and not (len(first) and len(second)):
        raise CompileError(
            f"{len(rows)} rows of {len(np.unique(rows.groups))} groups cannot be divided, to learn "
            "from some of them how much each signal is worth: give rows of more groups (--fit)"
        )
    return rows.take(first), rows.take(second)
