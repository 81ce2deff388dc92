"""Times of interleaved rounds, and what can be said of their ratios on a machine that is not quiet.

Rounds are cut into blocks one after another. The minimum of a block leaves out the interruptions
in it, and the ratio of two minima of the same block leaves out what slowed both for as long as a
block. The median of the blocks has an interval by order statistics (exact binomial, no
assumption on the times): how far another run of this machine in this state may be from it. A
state that lasts for the whole run, as memory that others keep busy, does not widen it;
``bench.comparison`` finds such a state by the model's own time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

BLOCKS = 20  # of the rounds that were asked for
CONFIDENCE = 0.95
NARROW = 0.01  # an interval's width, of its middle, that is trusted


@dataclass(frozen=True)
class Estimate:
    """The median of blocks, and its interval; without one where there are too few blocks."""

    value: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, blocks: Floats) -> Estimate:
        """Of one value a block (blocks,)."""
        value = float(np.median(blocks))
        if len(blocks) < 2:
            return cls(value, None, None)
        count = left_out(len(blocks))
        if count is None:
            return cls(value, None, None)
        ranked = np.sort(blocks)
        return cls(value, float(ranked[count]), float(ranked[-1 - count]))

    @property
    def width(self) -> float:
        """Of the interval, as a share of the value; infinite without an interval."""
        if self.low is None or self.high is None:
            return float("inf")
        return (self.high - self.low) / self.value

    @property
    def trusted(self) -> bool:
        """Is the interval narrow?"""
        return self.width <= NARROW

    def to_json(self) -> dict[str, Any]:
        interval = None if self.low is None else [self.low, self.high]
        return {"value": self.value, "interval": interval, "trusted": self.trusted}


def left_out(count: int) -> int | None:
    """How many of so many draws lie outside of the median's interval, at each end: the most that
    a fair coin tossed so often stays below with at most half of what CONFIDENCE leaves (a sign
    test; as scipy.stats.quantile_test, which devices lack). None where even the extremes are too
    few."""
    tail, found = 0.0, None
    for k in range(count // 2):
        tail += math.comb(count, k) / 2**count
        if tail > (1 - CONFIDENCE) / 2:
            break
        found = k
    return found


def minima(times: Floats, size: int) -> Floats:
    """The smallest of each block of ``size`` rounds: (pipelines, rounds) to (pipelines, blocks).
    Rounds that do not fill a block are left out."""
    blocks = times.shape[1] // size
    cut = times[:, : blocks * size].reshape(len(times), blocks, size)
    found: Floats = cut.min(axis=2)
    return found


def ratio(of: Floats, to: Floats) -> Estimate:
    """Of two pipelines' block minima (blocks,), block by block."""
    return Estimate.of(of / to)
