"""Scores with few values: rows that tie at a threshold are ranked by the classifier's softmax.

A guaranteed threshold never alarms on a tie (``score > threshold``), so that a score whose upper
values are shared by many right answers would certify to no alarm at all. Ranked by the softmax
within each value, it can alarm on as many of them as the promise admits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.ir import Builder
from edgemon.compiler.monitors.base import Score
from edgemon.compiler.monitors.tails import STEPS, Surprise, forest_of

Floats = npt.NDArray[np.float64]

FEW_VALUES = 256
WORTH = 0.25  # of the promised rate: so many rows tied at the threshold are worth ranking


def ties_cost_power(scores: npt.NDArray[Any], softmax: npt.NDArray[Any], rate: float) -> bool:
    """Would a threshold for a false-alarm ``rate`` on scores (n,) of right answers lie on a value
    that many of them share, and can the softmax's odds (n,) tell those apart?

    On the rows that a score was fitted on its upper values can be rarer than they will be: a score
    with few values is taken at its word.
    """
    if not len(scores):
        return False
    values = len(np.unique(scores))
    if len(np.unique(np.column_stack([scores, softmax]), axis=0)) == values:
        return False
    if values <= min(FEW_VALUES, len(scores) // 4):
        return True
    at = np.quantile(scores, 1 - rate, method="higher")
    return float((scores == at).mean()) > WORTH * rate


@dataclass(frozen=True, eq=False)
class TieBreak:
    """Ranks of a score, and of the softmax within each."""

    values: Floats  # ascending: above the k-th begins rank k + 1
    softmax: Floats

    @classmethod
    def of(cls, scores: Floats, softmax: Floats) -> TieBreak:
        """From the scores (n,) of right answers and the softmax's odds (n,) on them."""
        distinct = np.unique(scores)
        # Halfway between two values: then a rounding on the way does not matter.
        values = (distinct[:-1] + distinct[1:]) / 2
        if len(values) > STEPS - 1:  # as fine as the steps allow, finest where it is rare
            values = Surprise.of(scores).knots
        return cls(values, Surprise.of(softmax).knots)

    def lower(self, builder: Builder, score: Score, softmax: int) -> Score:
        """The score's rank, and after the point that of the softmax among ``STEPS``."""
        both = builder.node("concat", score.id, softmax)
        ranks = np.arange(len(self.values) + 1.0), np.arange(len(self.softmax) + 1.0)
        tables = [(self.values, ranks[0] * STEPS), (self.softmax, ranks[1])]
        node = builder.node("trees", both, tables=forest_of(tables).pack("float64"))
        return Score(node, display_scale=1 / STEPS)
