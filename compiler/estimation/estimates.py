"""Every estimate of how often a model is right on given rows, and what each stands on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import ks_2samp

from edgemon.compiler.accuracy.table import UNIT, AccuracyTable
from edgemon.compiler.estimation import inference
from edgemon.compiler.estimation.learned import Learned
from edgemon.compiler.estimation.observed import Observed
from edgemon.compiler.estimation.unlabelled import (
    BASELINES,
    largest,
    negative_entropy,
    temperature_of,
    tempered,
)
from edgemon.compiler.methods.accuracy import estimate as of_members
from edgemon.compiler.methods.accuracy import mean_entropy

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]

SURE = 1e-3  # p-value below which scores are not distributed as those of the reference rows
DRAW, ENTROPY = "random labels", "labels of the rows of most entropy"


@dataclass(frozen=True)
class Estimate:
    """``deviation``: between the members of an ensemble. ``because``: on what it stands."""

    name: str
    estimate: float | None
    low: float | None = None
    high: float | None = None
    labels: int = 0
    deviation: float | None = None
    because: str = ""

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name, "estimate": self.estimate, "low": self.low, "high": self.high,
            "labels": self.labels, "deviation": self.deviation, "because": self.because,
        }  # fmt: skip

    def withheld(self) -> Estimate:
        """The same without its numbers."""
        return Estimate(self.name, None, because=self.because)


@dataclass(frozen=True)
class Shift:
    """Are rows unlike the reference rows? ``drift``: did the bundle's drift test raise its flag
    (None: it has none)? ``p_value``: of "the watched monitor's scores have one distribution"
    (Kolmogorov and Smirnov)."""

    drift: bool | None
    p_value: float

    @property
    def flag(self) -> bool:
        return bool(self.drift) or self.p_value < SURE

    @classmethod
    def of(cls, rows: Observed, learned: Learned) -> Shift:
        """Rows whose scores are all faults are unlike any."""
        scores = rows.scores[~rows.faults].astype(np.float64)
        p = float(ks_2samp(scores, learned.scores).pvalue) if len(scores) else 0.0
        return cls(None if rows.drift is None else rows.drift.flag, p)


def probabilities(rows: Observed, table: AccuracyTable) -> Floats:
    """(n,) of being right by the watched monitor's score; 0 where it has none."""
    scores = np.where(rows.faults, rows.scores.dtype.type(0), rows.scores)
    return np.where(rows.faults, 0.0, table.lookup(scores) / UNIT)


def unlabelled(rows: Observed, learned: Learned, table: AccuracyTable) -> Iterator[Estimate]:
    """Without labels of the rows, the one that is worth most first."""
    told = probabilities(rows, table)
    mean = float(told.mean())
    spread = float(told.var()) / len(told) + table.variance / UNIT**2 / table.rows
    yield Estimate(
        "calibrated_score", mean, *inference.wilson(mean, spread, len(told)),
        because="mean of the probabilities of the device's table",
    )  # fmt: skip
    if learned.ensemble is not None:
        members = learned.ensemble.member_scores(rows.p)
        own = f"of {len(members)} networks on the softmax vector (Shao et al. 2020), no labels"
        share, deviation = of_members(members)
        yield Estimate("ensemble", share, deviation=deviation, because=f"share {own}")
        yield Estimate(
            "ensemble_mean", float(members.mean()), deviation=float(members.mean(axis=1).std()),
            because=f"mean score {own}",
        )  # fmt: skip
    for name, baseline in BASELINES.items():
        found = baseline.estimate(rows.p, learned.baselines[name])
        yield Estimate(name, found, because=f"{baseline.source}")


def from_draw(
    rows: Observed, table: AccuracyTable, at: Indices, classes: npt.NDArray[np.int64]
) -> Iterator[Estimate]:
    """From labels (k,) of rows ``at`` (k,) that were drawn at random, the recommended one first."""
    right = np.equal(rows.predicted[at], classes)
    for name, found, because in (
        (
            "prediction_powered",
            inference.prediction_powered(probabilities(rows, table), right, at),
            f"{DRAW}, and the monitor's scores of all rows: holds under any shift",
        ),
        ("random", inference.of_labels(right, len(rows)), f"{DRAW} alone: holds under any shift"),
    ):
        yield Estimate(name, found.estimate, found.low, found.high, labels=len(at), because=because)
    temperature = temperature_of(rows.p[at], classes)
    yield Estimate(
        "temperature", float(largest(tempered(rows.p, temperature)).mean()), labels=len(at),
        because=f"mean largest probability at the temperature {temperature:.3g} of {DRAW}",
    )  # fmt: skip


def from_entropy(
    rows: Observed, learned: Learned, at: Indices, classes: npt.NDArray[np.int64]
) -> Iterator[Estimate]:
    """As published: the ensemble moved by labels (k,) of rows ``at`` (k,), by ``most_entropy``. The
    share is of the other rows; ``combined`` counts the labelled ones as their labels say."""
    right = np.equal(rows.predicted[at], classes)
    if learned.ensemble is not None:
        others = np.setdiff1d(np.arange(len(rows)), at)
        members = learned.ensemble.transfer(rows.p[at], right).member_scores(rows.p[others])
        share, deviation = of_members(members)
        because = f"{ENTROPY}: no sample of all rows (Shao et al. 2020)"
        yield Estimate(
            "ensemble_transfer", share, labels=len(at), deviation=deviation, because=because
        )
        combined = (share * len(others) + float(right.sum())) / len(rows)
        yield Estimate(
            "ensemble_transfer_combined", combined, labels=len(at),
            deviation=deviation * len(others) / len(rows), because=because,
        )  # fmt: skip


def most_entropy(rows: Observed, learned: Learned, count: int) -> Indices:
    """The rows (count,) that the published method wants labels of."""
    if learned.ensemble is None:
        doubt = -negative_entropy(rows.p)
    else:
        doubt = mean_entropy(learned.ensemble.member_scores(rows.p)).astype(np.float64)
    return np.sort(np.argsort(-doubt, kind="stable")[:count])


def drawn(rows: Observed, count: int, seed: int) -> Indices:
    """So many rows (count,) at random."""
    return np.sort(np.random.default_rng(seed).permutation(len(rows))[:count])


def stratified(rows: Observed, table: AccuracyTable, count: int, seed: int) -> Indices:
    """So many rows (count,), one at random of each of as many strata by the monitor's score: as
    likely to be drawn as at random, and less alike."""
    rng = np.random.default_rng(seed)
    told = probabilities(rows, table)
    order = np.lexsort((rng.random(len(told)), told))
    edges = np.linspace(0, len(order), count + 1)
    at = np.floor(edges[:-1] + rng.random(count) * np.diff(edges)).astype(np.intp)
    return np.sort(order[np.unique(at)])
