"""Means over resplits of a case and over the cases of a group, with bootstrap intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare.measures import Numbers
from edgemon.compiler.statistics.intervals import RESAMPLES, percentiles

FEWEST = 2  # values of which a bootstrap says anything


def average(found: Sequence[Numbers], seed: int = 0) -> dict[str, dict[str, Any]]:
    """By key: the mean over those that have the number, how many have it (``of``), for how many of
    these it is undefined, and the percentile bootstrap interval of the mean (95 %), which draws
    splits, or cases.

    The MCC of a monitor that never or always alarms is undefined and counts as 0, for that is what
    it is worth; other undefined numbers are left out.
    """
    keys = dict.fromkeys(key for numbers in found for key in numbers)
    return {
        key: _mean(key, [n[key] for n in found if n.get(key) is not None], seed) for key in keys
    }


def _mean(key: str, given: Sequence[float | None], seed: int) -> dict[str, Any]:
    values = np.array(given, np.float64)
    undefined = np.isnan(values)
    values = np.where(undefined, 0.0, values) if key.endswith("mcc") else values[~undefined]
    return {
        "mean": float(values.mean()) if len(values) else None,
        "interval": _interval(values, seed),
        "of": len(given),
        "undefined": int(undefined.sum()),
    }


def _interval(values: npt.NDArray[np.float64], seed: int) -> tuple[float, float] | None:
    if len(values) < FEWEST:
        return None
    rng = np.random.default_rng(seed)
    taken = rng.integers(0, len(values), (RESAMPLES, len(values)))
    return percentiles(values[taken].mean(axis=1))
