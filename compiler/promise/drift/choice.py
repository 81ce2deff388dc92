"""Choosing a drift test whose false flags are promised to be rare, and measuring how rare.

Half of the held-out scores design it: edges of bins at quantiles, the share p of each bin, and
alternatives q. The other half bounds what the first half cannot know: for each alternative the
mean m of q/p on clean data, which would be 1 were p exact. Increments are log(q/p) - log(m), so
that the exponential of an increment has a mean of at most 1 on clean data, and K such sums reach
log(K R) after R images or more on average (Lorden 1971; why this holds for K tests,
docs/drift.md). The bound is of Waudby-Smith & Ramdas 2024, "Estimating means of bounded random
variables by betting", with one bet that the first half chooses.

Where rows come in groups (frames of a track), groups are what is independent: halves and bounds
are of groups, and increments are divided by the rows of the largest group, so that a group adds no
more than one image would.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from edgemon.compiler.data.groups import Groups
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.errors import CompileError
from edgemon.compiler.promise.drift.detector import LARGEST, MOST_IMAGES, UNIT, DriftTest

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
SIMULATED, MOST_FLAGS = 1_000_000, 10_000  # images of the stream, at most
FIRST_BLOCK, MOST_BLOCK = 256, 1 << 16  # images that are looked at together
WITHIN_GROUPS = 4.0  # by how much a flag amid a group may come too early: docs/drift.md


@dataclass(frozen=True, eq=False)
class FittedDrift:
    """A drift test, and what its alternatives are called."""

    test: DriftTest
    alternatives: tuple[str, ...]
    rows: int
    confidence: float
    largest_group: int  # rows of it; 1 where each row stands by itself


def require_run_length(images: int) -> None:
    """Raises CompileError for what no test can promise."""
    if not 0 <= images <= MOST_IMAGES:
        raise CompileError(
            f"--drift-run-length {images}: give images from 1 to {MOST_IMAGES}, or 0 for no test"
        )


def fit_drift(
    scores: Array,
    alarm_above: float | None,
    monitor: int,
    *,
    run_length: int,
    confidence: float,
    seed: int,
    groups: Groups | None = None,
    in_design: npt.NDArray[np.bool_] | None = None,
) -> FittedDrift | None:
    """A test whose mean run length to a false flag is at least ``run_length`` images, with this
    confidence over the choice of the rows; None where the rows are too few for any alternative.

    Args:
        scores: raw scores (n,) of held-out rows, right and wrong ones: the device cannot tell.
        alarm_above: of the same monitor; one of the edges, so that alarms are one statistic. None
            of a signal, which never alarms.
        groups: (n,) of the rows, if images come a whole group at a time, none with more images
            than the largest here.
        in_design: (n,) see ``design_half``, of these rows if none.
    """
    group, sizes = _numbered(len(scores), groups)
    if len(sizes) < FEWEST_ROWS:
        return None
    if in_design is None:
        in_design = design_half(len(scores), seed, groups)
    return _fitted(
        scores[in_design], scores[~in_design], group[~in_design], int(sizes.max()),
        len(np.unique(group[in_design])), alarm_above, monitor, run_length, confidence,
    )  # fmt: skip


def _numbered(rows: int, groups: Groups | None) -> tuple[npt.NDArray[np.intp], Array]:
    """The group of each row, by number from 0, and the rows of each group."""
    _, group, sizes = np.unique(
        np.arange(rows) if groups is None else groups, return_inverse=True, return_counts=True
    )
    return group, sizes


def design_half(rows: int, seed: int, groups: Groups | None = None) -> npt.NDArray[np.bool_]:
    """Which of the rows (n,) design a test: what is chosen by these alone leaves its promise, which
    the others bound, as it is."""
    group, sizes = _numbered(rows, groups)
    order = np.random.default_rng(seed).permutation(len(sizes))
    found: npt.NDArray[np.bool_] = np.isin(group, order[: len(sizes) // 2])
    return found


def reckoned(
    design: Array, alarm_above: float | None, *, run_length: int, confidence: float
) -> DriftTest | None:
    """About the test that these rows design, its bounds from the same rows: to compare scores
    with, and not to promise anything. None where no alternative is left."""
    if len(design) < FEWEST_ROWS // 2:
        return None
    found = _fitted(
        design, design, np.arange(len(design)), 1, len(design), alarm_above, 0, run_length,
        confidence,
    )  # fmt: skip
    return None if found is None else found.test


def _fitted(
    design: Array, check: Array, of_check: Array, largest: int, independent: int,
    alarm_above: float | None, monitor: int, run_length: int, confidence: float,
) -> FittedDrift | None:  # fmt: skip
    """``of_check`` (n,): groups of the ``check`` rows; ``largest``: rows of a group, at most;
    ``independent``: groups of the ``design`` rows."""
    edges = _edges(design, alarm_above, independent)
    blank = DriftTest(monitor, edges, np.zeros((0, len(edges) + 1), np.int32), 1, run_length)
    share = _shares(blank.bins(design), len(edges) + 1)
    bins, of_group = blank.bins(check), np.unique(of_check, return_inverse=True)[1]
    if not len(edges):
        return None
    at_alarm = None if alarm_above is None else edges >= edges.dtype.type(alarm_above)
    wanted = _alternatives(share, at_alarm)
    kept, increments = [], []
    for name, other in wanted.items():
        ratio = other / share
        mean = _upper_mean(
            ratio, share, np.bincount(of_group, ratio[bins]) / largest,
            np.bincount(of_group) / largest, (1 - confidence) / len(wanted),
        )  # fmt: skip
        own = np.floor(UNIT * (np.log(ratio) - np.log(mean)) / largest)
        if (other * own).sum() > 0 and own.min() < 0:  # else it could not see even itself
            kept.append(name)
            increments.append(np.clip(own, -LARGEST, LARGEST).astype(np.int32))
    if not kept:
        return None
    early = 1.0 if largest == 1 else WITHIN_GROUPS
    limit = int(np.ceil(UNIT * np.log(early * len(kept) * max(run_length, 2))))
    test = DriftTest(monitor, edges, np.array(increments), limit, run_length)
    return FittedDrift(test, tuple(kept), len(design) + len(check), confidence, largest)


def _edges(design: Array, alarm_above: float | None, independent: int) -> Array:
    """Scores at equal shares of the rows, and the alarm threshold if there is one; fewer where few
    of the rows are independent."""
    dtype = np.float32 if design.dtype == np.float32 else np.int64
    bins = min(QUANTILES, independent // ROWS_A_BIN)
    at = np.arange(1, bins) * len(design) // bins
    found = np.sort(design)[at].astype(dtype)
    return np.unique(found if alarm_above is None else np.append(found, dtype(alarm_above)))


def _shares(bins: Array, count: int) -> Floats:
    """Share of each bin, half a row added to each (Krichevsky & Trofimov 1981)."""
    smoothed = np.bincount(bins, minlength=count) + 0.5
    found: Floats = smoothed / smoothed.sum()
    return found


def _alternatives(share: Floats, at_alarm: npt.NDArray[np.bool_] | None) -> dict[str, Floats]:
    """Other shares (B,) that the scores might come to have. ``at_alarm`` (B - 1,): edges that are
    the alarm threshold or above it; None without one."""
    rank = np.cumsum(share) - share / 2
    found = {name: _normal(share * np.exp(slope * rank)) for name, slope in SLOPES.items()}
    outer = np.abs(2 * rank - 1)
    found |= {name: _normal(share * np.exp(slope * outer)) for name, slope in TAILS.items()}
    if at_alarm is None:
        return found
    alarms = np.append(False, at_alarm)
    rate = share[alarms].sum()
    more = min(ALARM_FACTOR * rate, (1 + rate) / 2)
    found[MORE_ALARMS] = np.where(alarms, share * more / rate, share * (1 - more) / (1 - rate))
    return found


def _normal(weights: Floats) -> Floats:
    found: Floats = weights / weights.sum()
    return found


def _upper_mean(values: Floats, share: Floats, sums: Floats, weights: Floats, risk: float) -> float:
    """An upper confidence bound of the mean of ``values`` (B,), one a bin, from independent groups:
    ``sums`` (G,) of the values of a group's rows and ``weights`` (G,), the number of these, both
    over the rows of the largest group. ``share`` (B,) is what rows that are not counted said."""
    top = values.max()
    variance = (share * (values - 1) ** 2).sum() * (weights**2).sum()
    bet = min(np.sqrt(2 * np.log(1 / risk) / variance), LARGEST_BET / top)

    def log_capital(mean: float) -> float:
        """The wealth of one who bets, group by group, that values are below ``mean``."""
        return float(np.log1p(bet * (mean * weights - sums)).sum() + np.log(risk))

    highest = top
    while log_capital(highest) < 0:  # with few rows the bound is beyond every value
        highest *= 2
    return float(scipy.optimize.brentq(log_capital, 0.0, highest))


def measure_run_length(
    test: DriftTest, scores: Array, seed: int, groups: Groups | None = None
) -> schema.RunLength:
    """False flags on one long stream that is drawn from clean scores (n,), with replacement: row by
    row, or whole ``groups`` (n,), their rows in order. The test starts anew at each flag. The
    interval of 95 % (Garwood 1936) covers the drawing, not the choice of the rows."""
    bins = test.bins(scores)[_stream(len(scores), groups, np.random.default_rng(seed))]
    increments = test.increments.T.astype(np.int64)
    images, flags, block = 0, 0, FIRST_BLOCK
    sums = np.zeros(len(test.increments), np.int64)
    while images < len(bins) and flags < MOST_FLAGS:
        path = sums + np.cumsum(increments[bins[images : images + block]], axis=0)
        path -= np.minimum(np.minimum.accumulate(path, axis=0), 0)
        flagged = (path >= test.limit).any(axis=1)
        if flagged.any():
            first = int(np.argmax(flagged)) + 1
            images, flags, sums = images + first, flags + 1, np.zeros_like(sums)
            block = max(FIRST_BLOCK, min(2 * first, block))
        else:
            images, sums = images + len(path), path[-1]
            block = min(2 * block, MOST_BLOCK)
    fewest = images / (scipy.stats.chi2.ppf(0.975, 2 * (flags + 1)) / 2)
    most = images / (scipy.stats.chi2.ppf(0.025, 2 * flags) / 2) if flags else None
    return {
        "images": images,
        "flags": flags,
        "run_length": images / flags if flags else None,
        "interval": [fewest, most],
    }


def _stream(rows: int, groups: Groups | None, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """(``SIMULATED``,): which row each image of a stream is."""
    if groups is None:
        return rng.integers(0, rows, SIMULATED)
    _, first, sizes = np.unique(np.sort(groups), return_index=True, return_counts=True)
    by_group = np.argsort(groups, kind="stable")
    drawn = rng.integers(0, len(first), int(np.ceil(SIMULATED / sizes.mean())) + len(first))
    while sizes[drawn].sum() < SIMULATED:
        drawn = np.append(drawn, rng.integers(0, len(first), len(drawn)))
    lengths = sizes[drawn]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    found: npt.NDArray[np.int64] = by_group[np.repeat(first[drawn], lengths) + within][:SIMULATED]
    return found
