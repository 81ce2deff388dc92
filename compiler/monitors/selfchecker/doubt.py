"""A layer's doubt in the predicted class: ranks rows on which equally many layers disagree."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import IsotonicRegression

from edgemon.compiler.program.ir import Builder

Floats = npt.NDArray[np.float64]

BUCKETS = 16


def doubt(builder: Builder, densities: int, predicted: int) -> int:
    """Value id of minus the log of the layer's posterior of the predicted class, one float."""
    from_top = builder.node("sub", densities, builder.node("max", densities))
    total = builder.node("logsumexp", from_top, tables=[np.ones(1, np.uint32)])
    own = builder.node("select", from_top, predicted)
    return builder.node("sub", total, own)


class DoubtScale:
    """Steps of doubt, worth the log-odds that the model is wrong; more doubt is never worth less.

    The step of a value is found as the largest of some lines (``affine``, ``argmax``), each of
    which overtakes the one before at an edge: that is the one way from a float to a table.
    """

    def __init__(self, values: Floats, wrong: npt.NDArray[np.bool_]) -> None:
        """Learn from the doubts (n,) of rows on which the model is right or wrong (n,)."""
        quantiles = np.linspace(0, 1, BUCKETS + 1)[1:-1]
        # Half of the edges lie among the doubts of wrong rows, where the others have few.
        pool = [np.quantile(v, quantiles[i::2]) for i, v in enumerate((values, values[wrong]))]
        self.edges = np.unique(np.concatenate(pool).astype(np.float32)).astype(np.float64)
        step = np.searchsorted(self.edges, values, side="left")
        rows = np.bincount(step, minlength=len(self.edges) + 1)
        wrongs = np.bincount(step, weights=wrong, minlength=len(self.edges) + 1)
        share = (wrongs + wrong.mean()) / (rows + 1)
        rising = IsotonicRegression().fit(np.arange(len(rows)), share, sample_weight=rows + 1)
        share = np.clip(rising.predict(np.arange(len(rows))), 1e-6, 1 - 1e-6)
        worth = np.log(share / (1 - share))
        self.worth = worth - worth[0]  # (edges + 1,), from 0 on

    def lower(self, builder: Builder, value: int, unit: float) -> int:
        """Value id of the worth of a doubt, one whole number: log-odds times ``unit``."""
        slopes = np.arange(len(self.edges) + 1, dtype=np.float64)
        lines = [slopes, np.concatenate([[0.0], -np.cumsum(self.edges)])]
        step = builder.node("argmax", builder.node("affine", value, tables=lines))
        entries = np.trunc(self.worth * unit).astype(np.int32)
        return builder.node("lut", step, tables=[entries, np.zeros(1, np.int32)])
