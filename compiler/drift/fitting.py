"""Choosing a drift test whose false flags are promised to be rare, and measuring how rare.

Half of the held-out scores design it: edges of bins at quantiles, the share p of each bin, and
alternatives q. The other half bounds what the first half cannot know: for each alternative the
mean m of q/p on clean data, which would be 1 were p exact. Increments are log(q/p) - log(m), so
that the exponential of an increment has a mean of at most 1 on clean data, and K such sums reach
log(K R) after R images or more on average (Lorden 1971; why this holds for K tests,
docs/drift.md). The bound is of Waudby-Smith & Ramdas 2024, "Estimating means of bounded random
variables by betting", with one bet that the first half chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq
from scipy.stats import chi2

from edgemon.compiler.drift.detector import LARGEST, MOST_IMAGES, UNIT, DriftTest
from edgemon.compiler.errors import CompileError

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

QUANTILES = 16  # equal shares into which the edges cut the scores
ROWS_A_BIN = 12  # of the design half; fewer rows make fewer bins
FEWEST_ROWS = 4 * ROWS_A_BIN
LARGEST_BET = 0.75  # of what could lose everything
ALARM_FACTOR = 2.0  # alarms as many times as often
SLOPES = {  # alternatives: the log of a share changes by this times a shape of the rank in [0, 1]
    "higher": 1.0,
    "much higher": 3.0,
    "lower": -1.0,
    "much lower": -3.0,
}
TAILS = {"more at both ends": 2.0, "more in the middle": -2.0}
MORE_ALARMS = "more alarms"
SIMULATED, MOST_STEPS = 1_000_000, 5_000  # images in all, and of one stream


@dataclass(frozen=True, eq=False)
class FittedDrift:
    """A drift test, and what its alternatives are called."""

    test: DriftTest
    alternatives: tuple[str, ...]
    rows: int
    confidence: float


def require_run_length(images: int) -> None:
    """Raises CompileError for what no test can promise."""
    if not 0 <= images <= MOST_IMAGES:
        raise CompileError(
            f"--drift-run-length {images}: give images from 1 to {MOST_IMAGES}, or 0 for no test"
        )


def fit_drift(
    scores: Array,
    alarm_above: float,
    monitor: int,
    *,
    run_length: int,
    confidence: float,
    seed: int,
) -> FittedDrift | None:
    """A test whose mean run length to a false flag is at least ``run_length`` images, with this
    confidence over the choice of the rows; None where the rows are too few for any alternative.

    Args:
        scores: raw scores (n,) of held-out rows, right and wrong ones: the device cannot tell.
        alarm_above: of the same monitor; one of the edges, so that alarms are one statistic.
    """
    order = np.random.default_rng(seed).permutation(len(scores))
    design, check = scores[order[: len(order) // 2]], scores[order[len(order) // 2 :]]
    if len(scores) < FEWEST_ROWS:
        return None
    edges = _edges(design, alarm_above)
    blank = DriftTest(monitor, edges, np.zeros((0, len(edges) + 1), np.int32), 1, run_length)
    share = _shares(blank.bins(design), len(edges) + 1)
    counts = np.bincount(blank.bins(check), minlength=len(share))
    wanted = _alternatives(share, edges >= edges.dtype.type(alarm_above))
    kept, increments = [], []
    for name, other in wanted.items():
        ratio = other / share
        mean = _upper_mean(ratio, share, counts, (1 - confidence) / len(wanted))
        own = np.floor(UNIT * (np.log(ratio) - np.log(mean)))
        if (other * own).sum() > 0 and own.min() < 0:  # else it could not see even itself
            kept.append(name)
            increments.append(np.clip(own, -LARGEST, LARGEST).astype(np.int32))
    if not kept:
        return None
    limit = int(np.ceil(UNIT * np.log(len(kept) * max(run_length, 2))))
    test = DriftTest(monitor, edges, np.array(increments), limit, run_length)
    return FittedDrift(test, tuple(kept), len(scores), confidence)


def _edges(design: Array, alarm_above: float) -> Array:
    """Scores at equal shares of the rows, and the alarm threshold."""
    dtype = np.float32 if design.dtype == np.float32 else np.int64
    bins = min(QUANTILES, len(design) // ROWS_A_BIN)
    at = np.arange(1, bins) * len(design) // bins
    return np.unique(np.append(np.sort(design)[at].astype(dtype), dtype(alarm_above)))


def _shares(bins: Array, count: int) -> Floats:
    """Share of each bin, half a row added to each (Krichevsky & Trofimov 1981)."""
    smoothed = np.bincount(bins, minlength=count) + 0.5
    found: Floats = smoothed / smoothed.sum()
    return found


def _alternatives(share: Floats, at_alarm: npt.NDArray[np.bool_]) -> dict[str, Floats]:
    """Other shares (B,) that the scores might come to have. ``at_alarm`` (B - 1,): edges that are
    the alarm threshold or above it."""
    rank = np.cumsum(share) - share / 2
    found = {name: _normal(share * np.exp(slope * rank)) for name, slope in SLOPES.items()}
    outer = np.abs(2 * rank - 1)
    found |= {name: _normal(share * np.exp(slope * outer)) for name, slope in TAILS.items()}
    alarms = np.append(False, at_alarm)
    rate = share[alarms].sum()
    more = min(ALARM_FACTOR * rate, (1 + rate) / 2)
    found[MORE_ALARMS] = np.where(alarms, share * more / rate, share * (1 - more) / (1 - rate))
    return found


def _normal(weights: Floats) -> Floats:
    found: Floats = weights / weights.sum()
    return found


def _upper_mean(values: Floats, share: Floats, counts: Array, risk: float) -> float:
    """An upper confidence bound of the mean of ``values`` (B,), one a bin, from ``counts`` (B,) of
    independent rows. ``share`` (B,) is what rows that are not counted said."""
    rows, top = counts.sum(), values.max()
    variance = (share * (values - 1) ** 2).sum()
    bet = min(np.sqrt(2 * np.log(1 / risk) / (rows * variance)), LARGEST_BET / top)

    def log_capital(mean: float) -> float:
        """Of who bets, row by row, that values are below ``mean``."""
        return float((counts * np.log1p(bet * (mean - values))).sum() + np.log(risk))

    highest = top
    while log_capital(highest) < 0:  # with few rows the bound is beyond every value
        highest *= 2
    return float(brentq(log_capital, 0.0, highest))


def measure_run_length(test: DriftTest, scores: Array, seed: int) -> dict[str, Any]:
    """False flags on streams that are drawn from clean scores (n,), with replacement. The interval
    of 95 % (Garwood 1936) covers the drawing, not the choice of the rows."""
    rng = np.random.default_rng(seed)
    steps = min(test.run_length, MOST_STEPS)
    streams = max(1, SIMULATED // steps)
    bins = test.bins(scores)
    sums = np.zeros((streams, len(test.increments)), np.int64)
    flags = 0
    for _ in range(steps):
        sums = test.sums_after(sums, bins[rng.integers(0, len(bins), streams)])
        flagged = (sums == test.limit).any(axis=1)
        flags += int(flagged.sum())
        sums[flagged] = 0
    images = steps * streams
    fewest = images / (chi2.ppf(0.975, 2 * (flags + 1)) / 2)
    most = images / (chi2.ppf(0.025, 2 * flags) / 2) if flags else None
    return {
        "images": images,
        "flags": flags,
        "run_length": images / flags if flags else None,
        "interval": [fewest, most],
    }
