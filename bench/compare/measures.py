"""What one monitor is worth on one split into calibration and test rows.

Keys of the numbers: ``auroc`` and ``aupr`` of own errors; ``novelty.SET``, the AUROC of test rows
against a novel set; and for each kind of threshold ``KIND.mcc``, ``KIND.false_alarms`` (share of
right answers that alarm), ``KIND.caught`` (share of wrong ones) and ``KIND.scod_mcc``. None: there
is no such threshold; NaN: the number is undefined.

SCOD (selective classification with out-of-distribution detection) calls positive what should not
be relied on, wrong answers and novel rows. All novel rows together weigh as much as all test rows,
and each novel set as much as any other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare.judges import POOL, Raw, Scores
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, calibrate
from edgemon.compiler.statistics.intervals import mcc
from edgemon.compiler.statistics.metrics import aupr, auroc
from edgemon.compiler.statistics.tuning import best_mcc_threshold

Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.integer[Any]]
Numbers = dict[str, float | None]
Threshold = float | int

CERTIFIED, OWN, TUNED = "certified", "own", "tuned"
KINDS = (CERTIFIED, OWN, TUNED)
OF_THRESHOLD = ("mcc", "false_alarms", "caught", "scod_mcc")


def thresholds(
    scores: Raw, certified: Raw, wrong: Bools, own: Threshold | None, target: FalseAlarmPromise
) -> dict[str, Threshold | None]:
    """By kind, from calibration rows (n,): with the promise, for the scores that are certified and
    where the rows are enough; the method's own; the one with the best MCC on these rows, which
    promises nothing."""
    right = certified[~wrong]
    return {
        CERTIFIED: calibrate(right, target) if len(right) >= target.rows_needed() else None,
        OWN: own,
        TUNED: best_mcc_threshold(scores, wrong) if wrong.any() and len(right) else None,
    }


def measure(
    scores: Scores, certified: Scores, wrong: Bools, calibration: Indices, test: Indices,
    own: Threshold | None, target: FalseAlarmPromise,
) -> Numbers:  # fmt: skip
    """All numbers of a split.

    Args:
        scores: raw, of the pool and of novel sets by name. certified: those that the certified
            threshold is for. wrong: (n,) of the pool.
        calibration, test: rows of the pool.
    """
    pool = scores[POOL]
    judged, is_wrong = pool[test], wrong[test]
    novel = [name for name in scores if name != POOL]
    found: Numbers = {
        "auroc": _defined(auroc(judged.astype(np.float64), is_wrong)),
        "aupr": _defined(aupr(judged.astype(np.float64), is_wrong)),
    }
    for name in novel:
        both = np.concatenate([judged, scores[name]]).astype(np.float64)
        found[f"novelty.{name}"] = auroc(both, np.arange(len(both)) >= len(judged))
    known = pool[calibration], certified[POOL][calibration], wrong[calibration]
    for kind, threshold in thresholds(*known, own, target).items():
        used = certified if kind == CERTIFIED else scores
        quality = (
            dict.fromkeys(OF_THRESHOLD)
            if threshold is None
            else _at(threshold, used[POOL][test], is_wrong, [used[name] for name in novel])
        )
        found |= {f"{kind}.{key}": value for key, value in quality.items()}
    return found


def scod_mcc(alarm: Bools, wrong: Bools, novel_alarms: list[Bools]) -> float:
    """MCC of alarms on test rows (n,) and on the rows of each novel set (see above)."""
    share = len(alarm) / len(novel_alarms)
    caught = share * sum(float(a.mean()) for a in novel_alarms)
    missed = len(alarm) - caught
    table = [
        (alarm & wrong).sum() + caught, (alarm & ~wrong).sum(), (~alarm & ~wrong).sum(),
        (~alarm & wrong).sum() + missed,
    ]  # fmt: skip
    return float(mcc(np.array(table)))


def _at(threshold: Threshold, scores: Raw, wrong: Bools, novel: list[Raw]) -> Numbers:
    alarm = scores > threshold
    table = np.array(
        [(alarm & wrong).sum(), (alarm & ~wrong).sum(), (~alarm & ~wrong).sum(),
         (~alarm & wrong).sum()]
    )  # fmt: skip
    return {
        "mcc": float(mcc(table)),
        "false_alarms": float(alarm[~wrong].mean()) if (~wrong).any() else np.nan,
        "caught": float(alarm[wrong].mean()) if wrong.any() else np.nan,
        "scod_mcc": scod_mcc(alarm, wrong, [s > threshold for s in novel]) if novel else None,
    }


def _defined(value: float | None) -> float:
    return np.nan if value is None else value
