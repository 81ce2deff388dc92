"""Intervals: exact for shares, by seeded resampling of rows for MCC and AUROC."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Interval = tuple[float, float]

CONFIDENCE = 0.95
RESAMPLES = 2000
FEWEST = 2  # rows of a kind that have a variance
CAUGHT = 0.95  # share of the wrong answers in ``fpr_at_95_tpr``


def clopper_pearson(part: int, whole: int, confidence: float = CONFIDENCE) -> Interval | None:
    """Exact interval of a share; None of nothing."""
    if not whole:
        return None
    from scipy.stats import binomtest  # which devices lack

    found = binomtest(part, whole).proportion_ci(confidence, method="exact")
    return float(found.low), float(found.high)


def mcc(counts: Array) -> Floats:
    """MCC of many tables at once, (..., 4) counts of tp, fp, tn, fn; NaN where undefined."""
    tp, fp, tn, fn = np.moveaxis(np.asarray(counts, np.float64), -1, 0)
    with np.errstate(invalid="ignore"):
        return np.asarray(
            (tp * tn - fp * fn) / np.sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))
        )


def mcc_interval(
    counts: tuple[int, int, int, int], *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval | None:
    """Bootstrap interval of the MCC of a table (tp, fp, tn, fn). To draw rows with replacement is
    to draw their table from a multinomial distribution. None where the MCC is undefined."""
    if np.isnan(mcc(np.array(counts))):
        return None
    whole = sum(counts)
    rng = np.random.default_rng(seed)
    return percentiles(mcc(rng.multinomial(whole, np.array(counts) / whole, resamples)))


def mcc_difference_interval(
    one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_], wrong: npt.NDArray[np.bool_],
    *, seed: int = 0, resamples: int = RESAMPLES,
) -> Interval | None:  # fmt: skip
    """Bootstrap interval of MCC(one) - MCC(other), two alarms (n,) on the same rows. To draw rows
    with replacement is to draw how often each of the eight kinds of row occurs."""
    kinds = np.bincount(4 * one + 2 * other + wrong, minlength=8)
    draws = np.random.default_rng(seed).multinomial(len(wrong), kinds / len(wrong), resamples)
    tables = draws.reshape(-1, 2, 2, 2)  # (draw, one, other, wrong)
    first, second = (
        mcc(np.stack([t[:, 1, 1], t[:, 1, 0], t[:, 0, 0], t[:, 0, 1]], axis=1))
        for t in (tables.sum(axis=2), tables.sum(axis=1))
    )
    return percentiles(first - second)


def auroc_difference_interval(
    one: Array, other: Array, wrong: npt.NDArray[np.bool_]
) -> Interval | None:
    """Interval of AUROC(one) - AUROC(other), two scores (n,) of the same rows; None unless two rows
    at least are wrong and two are right."""
    if min(wrong.sum(), (~wrong).sum()) < FEWEST:
        return None
    from scipy.stats import norm  # which devices lack

    gain, error = auroc_gain(placements(one, wrong), placements(other, wrong), wrong)
    reach = float(norm.ppf((1 + CONFIDENCE) / 2)) * error
    return gain - reach, gain + reach


def auroc_error(auroc: float, wrongs: int, rights: int) -> float:
    """Standard error of an AUROC over so many wrong and right rows (Hanley, McNeil, Radiology
    1982)."""
    both = auroc / (2 - auroc) - auroc**2
    twice = 2 * auroc**2 / (1 + auroc) - auroc**2
    whole = auroc * (1 - auroc) + (wrongs - 1) * both + (rights - 1) * twice
    return math.sqrt(whole / (wrongs * rights))


def placements(score: Array, wrong: npt.NDArray[np.bool_]) -> Floats:
    """(n,): of each wrong row the share of right ones with a lower score, of each right row the
    share of wrong ones with a higher one; equal scores count half. Either's mean is the AUROC."""
    found = np.empty(len(score))
    for mine, others, sign in ((wrong, score[~wrong], 1), (~wrong, score[wrong], -1)):
        both = [np.searchsorted(np.sort(others), score[mine], side) for side in ("left", "right")]
        below = np.mean(both, axis=0) / len(others)
        found[mine] = below if sign > 0 else 1 - below
    return found


def auroc_gain(better: Floats, than: Floats, wrong: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """Difference of two AUROCs on the same rows (n,), from their ``placements``, and its standard
    error (DeLong, DeLong, Clarke-Pearson, Biometrics 1988)."""
    parts = [(better - than)[side] for side in (wrong, ~wrong)]
    variance = sum(np.var(part, ddof=1) / len(part) for part in parts)
    return float(parts[0].mean()), math.sqrt(variance)


def auroc_interval(
    score: Array, wrong: npt.NDArray[np.bool_], *, seed: int = 0, resamples: int = RESAMPLES
) -> Interval | None:
    """Bootstrap interval of the AUROC of scores (n,), of which some are of wrong answers (n,). A
    draw counts how often each row was taken, and the AUROC is that of the counts."""
    found = [_auroc(*counts) for counts in _draws(score, wrong, seed, resamples)]
    return percentiles(np.array(found))


@dataclass(frozen=True)
class RankingIntervals:
    """Bootstrap intervals of measures of a ranking, see ``metrics``; None where one is undefined
    in most draws."""

    auroc: Interval | None
    aupr: Interval | None
    aupr_right: Interval | None
    fpr_at_95_tpr: Interval | None

    @classmethod
    def of(
        cls, score: Array, wrong: npt.NDArray[np.bool_], *, seed: int = 0,
        resamples: int = RESAMPLES,
    ) -> RankingIntervals:  # fmt: skip
        """From scores (n,), some of which are of wrong answers (n,); all use the same draws."""
        found = np.array([
            (
                _auroc(wrongs, rights), _average_precision(wrongs[::-1], rights[::-1]),
                _average_precision(rights, wrongs), _fpr_at_tpr(wrongs[::-1], rights[::-1]),
            )
            for wrongs, rights in _draws(score, wrong, seed, resamples)
        ])  # fmt: skip
        return cls(*(percentiles(column) for column in found.T))


def _draws(
    score: Array, wrong: npt.NDArray[np.bool_], seed: int, resamples: int
) -> Iterator[tuple[Array, Array]]:
    """The wrong and the right rows at each distinct score, in ascending order, in each draw of n
    rows with replacement."""
    order = np.argsort(score, kind="stable")
    is_wrong = wrong[order]
    starts = np.flatnonzero(np.append(True, np.diff(score[order]) > 0))  # of equal scores
    n = len(score)
    rng = np.random.default_rng(seed)
    for _ in range(resamples):
        taken = np.bincount(rng.integers(0, n, n), minlength=n)
        yield np.add.reduceat(taken * is_wrong, starts), np.add.reduceat(taken * ~is_wrong, starts)


def _auroc(wrongs: Array, rights: Array) -> float:
    """AUROC from counts at ascending scores; NaN without wrong or right rows."""
    below = np.cumsum(rights) - rights / 2
    pairs = float(wrongs.sum()) * float(rights.sum())
    return float(wrongs @ below / pairs) if pairs else np.nan


def _average_precision(positives: Array, others: Array) -> float:
    """Average precision from counts, most positive first; NaN without a positive."""
    found, all_rows = np.cumsum(positives), np.cumsum(positives + others)
    whole = float(found[-1])
    return float(positives @ (found / np.maximum(all_rows, 1)) / whole) if whole else np.nan


def _fpr_at_tpr(wrongs: Array, rights: Array) -> float:
    """From counts at descending scores; NaN without wrong or right rows."""
    caught, alarms = np.cumsum(wrongs), np.cumsum(rights)
    if not caught[-1] or not alarms[-1]:
        return np.nan
    first = int(np.searchsorted(caught, math.ceil(CAUGHT * caught[-1] - 1e-9)))
    return float(alarms[first] / alarms[-1])


def percentiles(draws: Floats, confidence: float = CONFIDENCE) -> Interval | None:
    """The interval between the outer percentiles of bootstrap draws. Draws that are NaN are left
    out; None if they are the most."""
    defined = draws[~np.isnan(draws)]
    if 2 * len(defined) < len(draws):
        return None
    tail = (1 - confidence) / 2
    low, high = np.quantile(defined, [tail, 1 - tail])
    return float(low), float(high)
