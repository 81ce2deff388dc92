"""Thresholds with a guarantee on the false-alarm rate, from held-out correct rows.

Distribution-free, by order statistics: of n scores of correct rows, sorted, the threshold is the
k-th with the smallest k such that P(false-alarm rate <= alpha) >= 1 - delta for exchangeable
rows, whatever the score's distribution. Alarm iff score > threshold, so ties cost power, never
validity. The guarantee does not survive a shift of the data.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import binom

from edgemon.compiler.errors import CompileError


@dataclass(frozen=True)
class FalseAlarmTarget:
    """At most ``rate`` false alarms, with probability at least ``confidence``."""

    rate: float = 0.05
    confidence: float = 0.95

    def __post_init__(self) -> None:
        for name, value in (("--false-alarm", self.rate), ("--confidence", self.confidence)):
            if not 0 < value < 1:
                raise CompileError(f"{name} {value}: must lie between 0 and 1")

    @property
    def rows_needed(self) -> int:
        """Fewest correct rows for which any threshold can be promised."""
        return ceil(log(1 - self.confidence) / log(1 - self.rate))


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


def calibrate(scores: npt.NDArray[Any], target: FalseAlarmTarget) -> Any:
    """The threshold for the scores (n,) of correct held-out rows: alarm iff score > threshold."""
    return np.sort(scores)[order_statistic(len(scores), target) - 1].item()
