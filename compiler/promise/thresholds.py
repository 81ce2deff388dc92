"""Thresholds with a guarantee, from held-out rows.

Distribution-free, by order statistics of exchangeable rows, whatever the score's distribution. Of
several scores together the region in which none alarms is cut by statistically equivalent blocks
(Wald 1943; Tukey 1947, "Non-parametric estimation II"): what holds of one score's order statistic
holds of that region, however the scores depend on each other. Alarm iff score > threshold, so ties
cost power, never validity (Scheffe & Tukey 1945). No guarantee survives a shift of the data.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import numpy.typing as npt
import scipy

from edgemon.compiler.errors import CompileError

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

PER_CLASS = ("each", "every")  # one class, whichever; or all of them at once
WHOSE = ("verdict", "monitor")  # of the verdict of all monitors, or of each monitor by itself
MOST_ROWS = 1 << 62  # a bound of searches


class Promise(Protocol):
    """What thresholds must keep to: a rate on some rows, with some confidence."""

    @property
    def rate(self) -> float: ...
    @property
    def confidence(self) -> float: ...
    @property
    def per_class(self) -> str:
        """Empty, or of what classes the rate is promised, one of ``PER_CLASS``."""

    @property
    def whose(self) -> str:
        """One of ``WHOSE``."""

    @property
    def of(self) -> str:
        """What the rate is of."""

    @property
    def answers(self) -> str:
        """Which rows it concerns, in a word."""

    def alone(self) -> Self:
        """The same of each monitor by itself."""

    def of_one_class(self, classes: int) -> Self:
        """What each of so many classes must keep to, by itself, that all do."""

    def rows_needed(self, monitors: int = 1) -> int:
        """Fewest rows for which thresholds of so many monitors can be promised."""

    def concerns(self, correct: Bools) -> Bools:
        """Which rows the rate is about, given where the model is right."""

    def thresholds(self, scores: Sequence[Array]) -> list[Any]:
        """One for each monitor that judges, from the scores (n,) of each on held-out rows that it
        concerns. Raises CompileError if they are too few."""

    def strictest(self, thresholds: Sequence[Any]) -> Any:
        """The one of these thresholds, each from other rows, that keeps the promise on all rows."""


@dataclass(frozen=True)
class _Rate:
    """What both promises share."""

    rate: float
    confidence: float = 0.95
    per_class: str = ""
    whose: str = "verdict"
    option: ClassVar[str]
    of: ClassVar[str]
    answers: ClassVar[str]

    def __post_init__(self) -> None:
        for name, value in ((self.option, self.rate), ("--confidence", self.confidence)):
            if not 0 < value < 1:
                raise CompileError(f"{name} {value}: must lie between 0 and 1")
        if self.per_class and self.per_class not in PER_CLASS:
            raise CompileError(f"--per-class {self.per_class}: use {' or '.join(PER_CLASS)}")
        if self.whose not in WHOSE:
            raise CompileError(f"--promise {self.whose}: use {' or '.join(WHOSE)}")

    def alone(self) -> Self:
        return replace(self, whose="monitor")

    def thresholds(self, scores: Sequence[Array]) -> list[Any]:
        raise NotImplementedError

    def threshold(self, scores: Array) -> Any:
        """The threshold for one score (n,)."""
        return self.thresholds([scores])[0]

    def of_one_class(self, classes: int) -> Self:
        # Given how many rows each class has, classes are independent (Sidak 1967).
        kept = self.confidence ** (1 / classes) if self.per_class == "every" else self.confidence
        return replace(self, confidence=kept, per_class="")

    def rows_needed(self, monitors: int = 1) -> int:
        return bisect_left(range(MOST_ROWS), True, key=lambda n: self._enough(n, monitors))

    def _enough(self, rows: int, monitors: int) -> bool:
        """May each monitor cut off a row? That fewer lie beyond the rate must be improbable."""
        cut = monitors if self.whose == "verdict" else 1
        fewer = scipy.stats.binom.cdf(cut - 1, rows, self.rate)
        return rows >= cut and bool(fewer <= 1 - self.confidence)

    def _require(self, rows: int, monitors: int) -> None:
        if self._enough(rows, monitors):
            return
        several = monitors > 1 and self.whose == "verdict"
        whose = f" of the verdict of {monitors} monitors" if several else ""
        less = ", fewer monitors, or --promise monitor" if several else ""
        raise CompileError(
            f"{self.of_rate}{whose} at confidence {self.confidence:.3g} needs "
            f"{self.rows_needed(monitors)} {self.answers} threshold rows, but there are {rows}: "
            f"give more rows (--calibrate), or ask for less{less}"
        )

    @property
    def of_rate(self) -> str:
        return f"a rate of {self.of} of {self.rate:.3g}"


@dataclass(frozen=True)
class FalseAlarmPromise(_Rate):
    """At most ``rate`` of the right answers alarm, with probability at least ``confidence``: of the
    verdict of all monitors, or of each monitor by itself (``whose``); with ``per_class`` that is
    promised of the right answers of "each" class by itself, or of "every" class at once."""

    rate: float = 0.05
    option: ClassVar[str] = "--false-alarm"
    of: ClassVar[str] = "false alarms"
    answers: ClassVar[str] = "correct"

    def concerns(self, correct: Bools) -> Bools:
        return correct

    def thresholds(self, scores: Sequence[Array]) -> list[Any]:
        n = len(scores[0])
        self._require(n, len(scores))
        return [b.item() for b in boundaries(scores, n - order_statistic(n, self) + 1)]

    def strictest(self, thresholds: Sequence[Any]) -> Any:
        return max(thresholds)


@dataclass(frozen=True)
class MissPromise(_Rate):
    """At most ``rate`` of the wrong answers pass without an alarm, with probability at least
    ``confidence``.

    The risk falls as the threshold does, so that Learn-then-Test (Angelopoulos, Bates, Candes,
    Jordan, Lei 2021) with a fixed sequence of binomial tests comes to an order statistic.
    """

    rate: float = 0.1
    option: ClassVar[str] = "--miss-rate"
    of: ClassVar[str] = "misses"
    answers: ClassVar[str] = "wrong"

    def concerns(self, correct: Bools) -> Bools:
        return ~correct

    def thresholds(self, scores: Sequence[Array]) -> list[Any]:
        """Just below the k-th smallest score, for the largest k that keeps the promise."""
        n = len(scores[0])
        self._require(n, len(scores))
        k = np.arange(1, n + 1)
        most = int(k[scipy.stats.binom.cdf(k - 1, n, self.rate) <= 1 - self.confidence][-1])
        return [_below(b).item() for b in boundaries(scores, n - most + 1)]

    def strictest(self, thresholds: Sequence[Any]) -> Any:
        return min(thresholds)


def boundaries(scores: Sequence[Array], blocks: int) -> list[Any]:
    """For each of m scores (n,), the value of the last row that it cut off, after ``blocks``
    cuts, m at least: each cut, in turn by one of the scores, takes the row that is highest in it of
    those that are left.

    With rows from a continuous distribution, a new row lies above none of them with a probability
    that is Beta(n + 1 - blocks, blocks), over the choice of the rows (Tukey 1947): as it is for the
    order statistic to which this comes with one score.
    """
    orders = [iter(np.argsort(s, kind="stable")[::-1].tolist()) for s in scores]
    cut: set[int] = set()
    last = [0] * len(scores)
    for block in range(blocks):
        by = block % len(scores)
        last[by] = next(row for row in orders[by] if row not in cut)
        cut.add(last[by])
    return [s[row] for s, row in zip(scores, last, strict=True)]


def _below(value: Any) -> Any:
    if value.dtype.kind == "i":
        return value.astype(np.int64) - 1
    return np.nextafter(value, value.dtype.type(-np.inf))


def order_statistic(n: int, promise: FalseAlarmPromise) -> int:
    """k*, 1-based: the smallest k with sum over j >= k of C(n,j) (1-a)^j a^(n-j) <= delta."""
    promise._require(n, 1)
    k = np.arange(n + 1)
    return int(k[scipy.stats.binom.sf(k - 1, n, 1 - promise.rate) <= 1 - promise.confidence][0])


def calibrate(scores: Array, promise: FalseAlarmPromise) -> Any:
    """The threshold for the scores (n,) of correct held-out rows: alarm iff score > threshold."""
    return promise.threshold(scores)
