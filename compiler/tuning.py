"""Thresholds that are tuned on rows and promise nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.intervals import mcc


def best_mcc_threshold(score: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]) -> float | int:
    """The threshold (alarm iff score > threshold) with the largest MCC on these rows (n,), the
    lowest of several; the largest score, so that nothing alarms, where none has an MCC."""
    order = np.argsort(score, kind="stable")
    kept_wrong, kept = np.cumsum(wrong[order]), np.arange(1, len(score) + 1)
    fn, tn = kept_wrong, kept - kept_wrong
    quality = mcc(np.stack([wrong.sum() - fn, (~wrong).sum() - tn, tn, fn], axis=1))
    quality[np.append(np.diff(score[order]) == 0, False)] = np.nan  # equal scores stay together
    best = score[order[-1]] if np.isnan(quality).all() else score[order][np.nanargmax(quality)]
    threshold: float | int = best.item()
    return threshold
