"""How often a realised rate should exceed what was promised, over many resplits.

Of a threshold at the k-th of n exchangeable scores, alarms among m further rows are
beta-binomial(m, n - k + 1, k), whatever the distribution of the score, if it has no ties.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.stats import betabinom, binom

from edgemon.compiler.promise.thresholds import FalseAlarmPromise, order_statistic

BAND = 0.99


@cache
def share_exceeding(target: FalseAlarmPromise, n: int, m: int) -> float:
    """The law of resplits into n rows that set the threshold and m rows that judge it."""
    k = order_statistic(n, target)
    return float(betabinom.sf(np.floor(target.rate * m), m, n - k + 1, k))


def band(share: float, resplits: int) -> tuple[float, float]:
    """Where the share of so many resplits lies, with probability ``BAND``."""
    outside = (1 - BAND) / 2
    low, high = (float(binom.ppf(q, resplits, share)) / resplits for q in (outside, 1 - outside))
    return low, high
