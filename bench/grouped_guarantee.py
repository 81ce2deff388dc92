"""The promise where rows come in groups: what it is worth to count each row, or one of each group.

Right answers of rows in groups (frames of a track) are divided into halves again and again, one to
set the threshold and one to judge it by:

* each row counts, rows divided: rows of one group are on both sides. The promise seems to hold, but
  what is measured is of groups that are known, not of new ones;
* each row counts, groups divided: the same threshold, and the truth about new groups;
* one row of each group counts, groups divided: as ``edgemon compile --group`` sets it.

The first two are judged on all rows of the other half, as they count them; the last on one row of
each of its groups.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.bench.resplit_law import band, share_exceeding
from edgemon.compiler.data.groups import one_of_each
from edgemon.compiler.thresholds import FalseAlarmTarget, calibrate

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

GROUPS, ROWS_A_GROUP = 1000, 8  # of made-up scores
COMMON = 0.9  # of their variance, what the rows of a group have in common
MADE_UP = f"made up: {COMMON:.0%} of a score's variance is its group's"


@dataclass(frozen=True)
class GroupedLine:
    """One way to count under one promise; see ``bench.guarantee.Line``."""

    counted: str
    divided: str
    rate: float
    calibration_rows: float  # that count, mean over the resplits
    test_rows: float
    mean_rate: float
    exceeded: float
    predicted: float  # were what counts independent
    band: tuple[float, float]
    within: bool  # is ``exceeded`` no higher than the band?


@dataclass(frozen=True, eq=False)
class _Way:
    counted: str
    divided: str
    one_of_each: bool
    by_group: bool


WAYS = (
    _Way("each row", "rows", False, False),
    _Way("each row", "groups", False, True),
    _Way("one row of each group", "groups", True, True),
)


def made_up(seed: int) -> tuple[Floats, Indices]:
    """Scores and groups of rows that are alike within a group."""
    rng = np.random.default_rng(seed)
    groups = np.repeat(np.arange(GROUPS), ROWS_A_GROUP)
    own, common = rng.normal(size=len(groups)), rng.normal(size=GROUPS)
    return np.sqrt(1 - COMMON) * own + np.sqrt(COMMON) * common[groups], groups


def possible(
    groups: Indices, rates: tuple[float, ...], confidence: float
) -> list[FalseAlarmTarget]:
    """The promises for which half of the groups of rows (n,) are enough. Raises BenchError if that
    is none."""
    count = len(np.unique(groups))
    targets = [FalseAlarmTarget(rate, confidence) for rate in rates]
    found = [t for t in targets if t.rows_needed <= count // 2]
    if not found:
        fewest = min(t.rows_needed for t in targets)
        raise BenchError(
            f"half of {count} groups with right answers are too few for any promise: give rows of "
            f"{2 * fewest} groups or more"
        )
    return found


def study(
    score: Floats, groups: Indices, rates: tuple[float, ...], resplits: int, confidence: float,
    seed: int,
) -> Iterator[GroupedLine]:  # fmt: skip
    """Of the scores (n,) of right answers in groups (n,), at each rate that is ``possible``."""
    _, at = np.unique(groups, return_inverse=True)
    for target in possible(groups, rates, confidence):
        for way in WAYS:
            yield _line(way, score, at, target, resplits, seed)


def _line(
    way: _Way, score: Floats, groups: Indices, target: FalseAlarmTarget, resplits: int, seed: int
) -> GroupedLine:
    rng = np.random.default_rng(seed)
    units = groups if way.by_group else np.arange(len(score))
    realised, predicted, sizes = [], [], []
    for number in range(resplits):
        order = rng.permutation(int(units.max()) + 1)
        first = np.isin(units, order[: len(order) // 2])
        held_out, test = np.flatnonzero(first), np.flatnonzero(~first)
        if way.one_of_each:
            held_out, test = (p[one_of_each(groups[p], seed + number)] for p in (held_out, test))
        alarm = score[test] > calibrate(score[held_out], target)
        realised.append(float(alarm.mean()))
        predicted.append(share_exceeding(target, len(held_out), len(test)))
        sizes.append((len(held_out), len(test)))
    exceeded, expected = float(np.mean(np.array(realised) > target.rate)), float(np.mean(predicted))
    low, high = band(expected, resplits)
    n, m = np.mean(sizes, axis=0).tolist()
    return GroupedLine(
        way.counted, way.divided, target.rate, n, m, float(np.mean(realised)), exceeded, expected,
        (low, high), exceeded <= high,
    )  # fmt: skip
