"""Tail probabilities of scores as step functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 64
UNIT = 1 << 10  # of the whole numbers in leaves: a nat of surprise


@dataclass(frozen=True, eq=False)
class Surprise:
    """-log p of a score, where p(s) = (1 + #{reference >= s}) / (n + 1), in at most ``STEPS``
    steps that are even in -log p: fine where a score is rare, coarse where it is usual.

    The k-th value holds above ``knots[k - 1]`` and up to ``knots[k]``.
    """

    knots: Floats  # ascending
    values: Floats  # one more than knots, ascending from 0

    @classmethod
    def of(cls, reference: Floats, steps: int = STEPS) -> Surprise:
        """Learn from the scores (n,) of rows on which nothing is to be suspected."""
        ordered = np.sort(reference)
        n = len(ordered)
        # How many reference rows lie above each knot: from almost all of them to none.
        above = np.unique(
            np.rint((n + 1.0) ** (1 - np.arange(steps) / (steps - 1))).astype(int) - 1
        )
        knots = np.unique(ordered[n - 1 - above[above < n]]) if n else np.empty(0)
        left = n - np.searchsorted(ordered, knots, side="right")  # above each knot
        p = (1 + np.concatenate([[n], left])) / (n + 1)
        return cls(knots, -np.log(p))

    def __call__(self, scores: Floats) -> Floats:
        """-log p of scores (n,), in steps."""
        return np.asarray(self.values[np.searchsorted(self.knots, scores, side="left")])
