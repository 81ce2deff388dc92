"""The promise where rows come in groups: what it is worth to count each row, or one of each group.

Right answers of rows in groups (frames of a track) are divided into halves again and again, one to
set the threshold and one to judge it by:

* each row counts, rows divided: rows of one group are on both sides. The promise seems to hold, but
  what is measured is of groups that are known, not of new ones;
* each row counts, groups divided: the same threshold, and the truth about new groups;
* one row of each group counts, groups divided: as ``edgemon compile --group`` sets it.

Halves are cut as ``compile`` cuts fit, threshold and test rows, label by label. Made-up groups are
of unequal sizes, and large ones score unlike small ones, which must make no difference.
Halves are alike by symmetry; that a cut in unequal shares is fair too, the tests of ``cut`` show.

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
from edgemon.compiler.data.splits import cut
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, calibrate

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

LABELS, GROUPS_A_LABEL = 50, 20  # of made-up scores
LARGE, ROWS, ROWS_OF_LARGE = 2, 4, 30  # groups of each label that are large; rows of each group
SHIFT = 2.0  # standard deviations by which scores of large groups are lower
COMMON = 0.9  # of their variance, what the rows of a group have in common
MADE_UP = f"made up: {COMMON:.0%} of a score's variance is its group's"


@dataclass(frozen=True)
class GroupedLine:
    """One way to count under one promise; see ``bench.guarantee.GuaranteeLine``."""

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


def made_up(seed: int) -> tuple[Floats, Indices, Indices]:
    """Scores, groups and labels of rows that are alike within a group."""
    rng = np.random.default_rng(seed)
    count = LABELS * GROUPS_A_LABEL
    large = np.arange(count) % GROUPS_A_LABEL < LARGE
    groups = np.repeat(np.arange(count), np.where(large, ROWS_OF_LARGE, ROWS))
    own, common = rng.normal(size=len(groups)), rng.normal(size=count)
    score = np.sqrt(1 - COMMON) * own + np.sqrt(COMMON) * common[groups] - SHIFT * large[groups]
    return score, groups, groups // GROUPS_A_LABEL


def possible(
    groups: Indices, rates: tuple[float, ...], confidence: float
) -> list[FalseAlarmPromise]:
    """The promises for which half of the groups of rows (n,) are enough. Raises BenchError if that
    is none."""
    count = len(np.unique(groups))
    targets = [FalseAlarmPromise(rate, confidence) for rate in rates]
    found = [t for t in targets if t.rows_needed() <= count // 2]
    if not found:
        fewest = min(t.rows_needed() for t in targets)
        raise BenchError(
            f"half of {count} groups with right answers are too few for any promise: give rows of "
            f"{2 * fewest} groups or more"
        )
    return found


def study(
    score: Floats, groups: Indices, labels: Indices, rates: tuple[float, ...], resplits: int,
    confidence: float, seed: int,
) -> Iterator[GroupedLine]:  # fmt: skip
    """Of the scores (n,) of right answers in groups (n,) with labels (n,), at each rate that is
    ``possible``."""
    for target in possible(groups, rates, confidence):
        for way in WAYS:
            yield _line(way, score, groups, labels, target, resplits, seed)


def _line(
    way: _Way, score: Floats, groups: Indices, labels: Indices, target: FalseAlarmPromise,
    resplits: int, seed: int,
) -> GroupedLine:  # fmt: skip
    rng = np.random.default_rng(seed)
    realised, predicted, sizes = [], [], []
    for number in range(resplits):
        held_out, test = cut(labels, (1, 1), rng, groups if way.by_group else None)
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
