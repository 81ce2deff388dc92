"""Votes of layers in one whole number, which carries them exactly and still ranks rows with equal
votes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgemon.compiler.monitors.estimator import Score

Floats = npt.NDArray[np.float64]

VOTE = 1 << 14


def worth(votes: Floats, doubt: Floats, layers: int) -> Floats:
    """Whole numbers: of votes of one layer of several (1 wrong, -1 right, 0 none), and of what
    ranks equal votes, from -1 to 1, which together never outweighs a vote."""
    return votes * VOTE + np.trunc(doubt * (VOTE // 2 - 1) / layers)


def majority(votes: int) -> Score:
    """The score of a sum of votes, by its value id: a majority of the layers alarms, half of them
    are uncertain. Shown in net votes."""
    return Score(votes, VOTE // 2 - 1, -(VOTE // 2), display_scale=1.0 / VOTE)
