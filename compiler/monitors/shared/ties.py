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

from edgemon.compiler.monitors.estimator import Score
from edgemon.compiler.monitors.shared.steps import forest_of
from edgemon.compiler.monitors.shared.tails import STEPS, Surprise
from edgemon.compiler.program.ir import Builder

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
        """From the scores (n,) of rows, right and wrong, and the softmax's odds (m,) on right
        answers. Values above all of these are told apart too, by the least step seen: rows that a
        score was not fitted on reach further."""
        distinct = np.unique(scores)
        if len(distinct) > FEW_VALUES:  # evenly, and finely where scores are rare
            even = distinct[np.linspace(0, len(distinct) - 1, FEW_VALUES // 2).astype(int)]
            distinct = np.union1d(even, Surprise.of(scores).knots)
        step = np.diff(distinct).min() if len(distinct) > 1 else 1.0
        beyond = distinct[-1] + step * np.arange(1, max(2, STEPS - len(distinct) + 1))
        levels = np.append(distinct, beyond)
        # Halfway between two values: then a rounding on the way does not matter.
        return cls((levels[:-1] + levels[1:]) / 2, Surprise.of(softmax).knots)

    def lower(self, builder: Builder, score: Score, softmax: int) -> Score:
        """The score's rank, and after the point that of the softmax among ``STEPS``."""
        both = builder.node("concat", score.id, softmax)
        ranks = np.arange(len(self.values) + 1.0), np.arange(len(self.softmax) + 1.0)
        tables = [(self.values, ranks[0] * STEPS), (self.softmax, ranks[1])]
        node = builder.node("trees", both, tables=forest_of(tables).pack("float64"))
        return Score(node, display_scale=1 / STEPS)
