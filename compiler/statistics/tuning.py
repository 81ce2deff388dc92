"""What is tuned on rows and promises nothing: thresholds, and the folds that keep rows apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from edgemon.compiler.data.groups import Groups
from edgemon.compiler.statistics.intervals import mcc

Indices = npt.NDArray[np.int64]

FOLDS = 5
FEWEST_ERRORS = 10  # wrong rows (or groups with one) without which nothing is learned from errors


def folds(
    wrong: npt.NDArray[np.bool_], seed: int, groups: Groups | None
) -> list[tuple[Indices, Indices]]:
    """Rows to learn from and rows to judge by, each with wrong and right ones; no group (n,) is in
    two folds. None where there are too few wrong or right rows."""
    each = np.arange(len(wrong)) if groups is None else groups
    if min(len(np.unique(each[wrong])), len(np.unique(each[~wrong]))) < FEWEST_ERRORS:
        return []
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    found = kind(FOLDS, shuffle=True, random_state=seed).split(wrong, wrong, groups)
    return [fold for fold in found if all(0 < wrong[part].sum() < len(part) for part in fold)]


def best_mcc_threshold(score: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]) -> float | int:
    """The threshold (alarm iff score > threshold) with the largest MCC on these rows (n,), the
    lowest of several; the largest score, so that nothing alarms, where none has an MCC."""
    order = np.argsort(score, kind="stable")
    kept_wrong, kept = np.cumsum(wrong[order]), np.arange(1, len(score) + 1)
    fn, tn = kept_wrong, kept - kept_wrong
    quality = mcc(np.stack([wrong.sum() - fn, (~wrong).sum() - tn, tn, fn], axis=1))
    ascending = score[order]
    equal = ascending[1:] == ascending[:-1]
    quality[np.append(equal, False)] = np.nan  # equal scores stay together
    best = ascending[-1] if np.isnan(quality).all() else ascending[np.nanargmax(quality)]
    threshold: float | int = best.item()
    return threshold
