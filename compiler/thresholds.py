"""Thresholds with a guarantee, from held-out rows.

Distribution-free, by order statistics of exchangeable rows, whatever the score's distribution.
Alarm iff score > threshold, so ties cost power, never validity. No guarantee survives a shift of
the data.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log, log1p
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from edgemon.compiler.errors import CompileError

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


class Target(Protocol):
    """What a threshold must keep to: a rate on some rows, with some confidence."""

    @property
    def rate(self) -> float: ...
    @property
    def confidence(self) -> float: ...
    @property
    def per_class(self) -> bool: ...
    @property
    def of(self) -> str:
        """What the rate is of."""

    @property
    def answers(self) -> str:
        """Which rows it concerns, in a word."""

    @property
    def rows_needed(self) -> int:
        """Fewest rows for which any threshold can be promised."""

    def concerns(self, correct: Bools) -> Bools:
        """Which rows the rate is about, given where the model is right."""

    def threshold(self, scores: Array) -> Any:
        """From the scores (n,) of held-out rows that it concerns. Raises CompileError if they are
        too few."""

    def strictest(self, thresholds: Sequence[Any]) -> Any:
        """Of thresholds that each keep to it on other rows, the one that does on all of them."""


@dataclass(frozen=True)
class FalseAlarmTarget:
    """At most ``rate`` of the right answers alarm, with probability at least ``confidence``; with
    ``per_class`` that is promised of the right answers of each class by itself."""

    rate: float = 0.05
    confidence: float = 0.95
    per_class: bool = False
    of: ClassVar[str] = "false alarms"
    answers: ClassVar[str] = "correct"

    def __post_init__(self) -> None:
        _check("--false-alarm", self.rate, self.confidence)

    @property
    def rows_needed(self) -> int:
        return _rows_needed(self.rate, self.confidence)

    def concerns(self, correct: Bools) -> Bools:
        return correct

    def threshold(self, scores: Array) -> Any:
        return calibrate(scores, self)

    def strictest(self, thresholds: Sequence[Any]) -> Any:
        return max(thresholds)


@dataclass(frozen=True)
class MissTarget:
    """At most ``rate`` of the wrong answers pass without an alarm, with probability at least
    ``confidence``.

    The risk falls as the threshold does, so that Learn-then-Test (Angelopoulos, Bates, Candes,
    Jordan, Lei 2021) with a fixed sequence of binomial tests comes to an order statistic.
    """

    rate: float = 0.1
    confidence: float = 0.95
    per_class: ClassVar[bool] = False
    of: ClassVar[str] = "misses"
    answers: ClassVar[str] = "wrong"

    def __post_init__(self) -> None:
        _check("--miss-rate", self.rate, self.confidence)

    @property
    def rows_needed(self) -> int:
        return _rows_needed(self.rate, self.confidence)

    def concerns(self, correct: Bools) -> Bools:
        return ~correct

    def threshold(self, scores: Array) -> Any:
        """Just below the k-th smallest score, for the largest k that keeps the promise."""
        n = len(scores)
        if n < self.rows_needed:
            raise CompileError(
                f"a miss rate of {self.rate:.3g} at confidence {self.confidence:.3g} needs "
                f"{self.rows_needed} wrong threshold rows, but there are {n}: give more rows "
                "(--calibrate), or ask for less"
            )
        k = np.arange(1, n + 1)
        most = int(k[binom.cdf(k - 1, n, self.rate) <= 1 - self.confidence][-1])
        kth = np.sort(scores)[most - 1]
        below = kth - 1 if scores.dtype.kind == "i" else np.nextafter(kth, kth.dtype.type(-np.inf))
        return below.item()

    def strictest(self, thresholds: Sequence[Any]) -> Any:
        return min(thresholds)


def order_statistic(n: int, target: FalseAlarmTarget) -> int:
    """k*, 1-based: the smallest k with sum over j >= k of C(n,j) (1-a)^j a^(n-j) <= delta."""
    if n < target.rows_needed:
        raise CompileError(
            f"a false-alarm rate of {target.rate:.3g} at confidence {target.confidence:.3g} needs "
            f"{target.rows_needed} correct threshold rows, but there are {n}: give more rows "
            "(--calibrate), or ask for less"
        )
    k = np.arange(n + 1)
    return int(k[binom.sf(k - 1, n, 1 - target.rate) <= 1 - target.confidence][0])


def calibrate(scores: Array, target: FalseAlarmTarget) -> Any:
    """The threshold for the scores (n,) of correct held-out rows: alarm iff score > threshold."""
    return np.sort(scores)[order_statistic(len(scores), target) - 1].item()


def _rows_needed(rate: float, confidence: float) -> int:
    """The smallest n with (1 - rate)^n <= 1 - confidence, as the binomial law rounds it."""
    n = ceil(log(1 - confidence) / log1p(-rate))
    while binom.pmf(0, n, rate) > 1 - confidence:
        n += 1
    return n


def _check(option: str, rate: float, confidence: float) -> None:
    for name, value in ((option, rate), ("--confidence", confidence)):
        if not 0 < value < 1:
            raise CompileError(f"{name} {value}: must lie between 0 and 1")
