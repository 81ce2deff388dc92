"""From a monitor's raw score to the probability of being right: a table that a device looks up, by
isotonic regression (Zadrozny and Elkan 2002) on rows whose answers are known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import DataError

Array = npt.NDArray[Any]

UNIT = 65535  # probability 1
MOST_STEPS = 64
LEAST_ROWS = 50
LEAST_LABELS = 30  # from which on labels in the field count
WINDOW, LEAST_WINDOW, MOST_WINDOW = 1000, 64, 1 << 20  # images
FOLDS = 5


@dataclass(frozen=True, eq=False)
class AccuracyTable:
    """FORMAT.md, section 15. K steps; a score that exceeds k edges has probability k."""

    monitor: int  # index of the monitor whose scores are looked up
    edges: Array  # (K - 1,) raw scores, int64 or float32, strictly ascending
    probabilities: npt.NDArray[np.uint16]  # (K,) in 1/65535, none above the one before
    rows: int  # of calibration
    variance: int  # of the residual (right - probability) on them, in 1/65535^2
    window: int = WINDOW  # images
    least: int = LEAST_LABELS

    @property
    def block(self) -> int:
        """Images of an eighth of the window."""
        return -(-self.window // 8)

    def lookup(self, scores: Array) -> npt.NDArray[np.uint16]:
        """The probability (n,) of each raw score (n,), in 1/65535."""
        return self.probabilities[np.searchsorted(self.edges, scores, side="left")]


def fit(
    scores: Array, correct: npt.NDArray[np.bool_], *, monitor: int, window: int = WINDOW
) -> AccuracyTable:
    """The table of raw device scores (n,), int32, int64 or float32, of rows whose answers were
    right or not (n,). The residual's variance is that of rows that other folds' tables did not see.

    Raises DataError for few rows, a score that is no number, or a window that no device has.
    """
    require_window(window)
    if len(scores) < LEAST_ROWS:
        raise DataError(
            f"a table of accuracy is fitted on {LEAST_ROWS} rows or more, not on {len(scores)}: "
            "give more labelled rows"
        )
    if not np.isfinite(scores).all():
        raise DataError(
            "a score that is NaN or infinite: leave out the rows whose verdict is fault"
        )
    right = np.asarray(correct, bool)
    edges, probabilities = _steps(scores, right)
    residuals = np.empty(len(scores))
    from sklearn.model_selection import KFold  # which devices lack

    folds = KFold(FOLDS, shuffle=True, random_state=0)
    for seen, unseen in folds.split(scores):
        where, own = _steps(scores[seen], right[seen])
        found = own[np.searchsorted(where, scores[unseen], side="left")] / UNIT
        residuals[unseen] = right[unseen] - found
    variance = round(float(np.mean(residuals**2)) * UNIT**2)
    return AccuracyTable(monitor, edges, probabilities, len(scores), variance, window)


def require_window(window: int) -> None:
    """Raises DataError for a window that the format has not."""
    if not LEAST_WINDOW <= window <= MOST_WINDOW:
        raise DataError(
            f"a window of {window} images: give {LEAST_WINDOW} to {MOST_WINDOW:,} of them"
        )


def _steps(
    scores: Array, right: npt.NDArray[np.bool_]
) -> tuple[Array, npt.NDArray[np.uint16]]:  # fmt: skip
    """Edges and probabilities."""
    stored = np.dtype(np.float32 if scores.dtype == np.float32 else np.int64)
    values, places, counts = np.unique(
        scores.astype(stored), return_inverse=True, return_counts=True
    )
    rights = np.bincount(places, right, len(values))
    # By rank: an int64 score has more digits than the regression's float64.
    from sklearn.isotonic import IsotonicRegression  # which devices lack

    fitted = IsotonicRegression(increasing=False, y_min=0, y_max=1).fit_transform(
        np.arange(len(values), dtype=float), rights / counts, sample_weight=counts
    )
    starts = np.concatenate([[0], np.flatnonzero(np.diff(fitted)) + 1])
    starts = _merged(starts, counts.astype(float), rights)
    rows, hits = np.add.reduceat(counts, starts), np.add.reduceat(rights, starts)
    probabilities = np.round(hits / rows * UNIT).astype(np.uint16)
    edges = values[starts[1:] - 1]
    if len(edges) == 0:  # one step: the format has two, of which these are alike
        return values[-1:], np.repeat(probabilities, 2)
    return edges, np.minimum.accumulate(probabilities)


def _merged(starts: Array, counts: Array, rights: Array) -> Array:
    """At most as many steps as the format has: neighbours whose union loses least, in squares."""
    rows = list(np.add.reduceat(counts, starts))
    hits = list(np.add.reduceat(rights, starts))
    kept = list(starts)
    while len(kept) > MOST_STEPS:
        n, m = np.array(rows), np.array(hits) / np.array(rows)
        loss = n[1:] * n[:-1] / (n[1:] + n[:-1]) * np.diff(m) ** 2
        at = int(np.argmin(loss))
        rows[at : at + 2] = [rows[at] + rows[at + 1]]
        hits[at : at + 2] = [hits[at] + hits[at + 1]]
        del kept[at + 1]
    return np.array(kept)
