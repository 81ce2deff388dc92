"""Scores of right and wrong answers as a histogram whose axis suits them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents.report import Histogram
from edgemon.compiler.program.ir import Monitor
from edgemon.compiler.program.ops.classes import NO_BOX

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

BINS = 40
OUTER = 0.005  # share of the scores that an outermost bin may collect, on either side
HEAVY_TAIL = 20.0  # a range so many times the median is drawn on a logarithmic axis
DECADES = 6.0  # most that a logarithmic axis spans


def shown_scores(monitor: Monitor, raw: npt.NDArray[Any]) -> Floats:
    """Raw scores (n,) in the unit that people are shown; "in no box at all" is infinite."""
    values = np.array([monitor.shown(v) for v in raw.tolist()], np.float64)
    nowhere = NO_BOX.get(raw.dtype.name)
    if nowhere is not None and monitor.display == "linear":
        values[raw >= nowhere] = np.inf
    return values


def histogram(scores: Floats, wrong: Bools, marks: tuple[float, ...]) -> Histogram:
    """Counts of right and wrong answers (n,) over ``BINS`` bins, which also span the ``marks``.
    The outermost bins are open. Infinite scores are counted apart; without a finite score there
    are no bins."""
    finite = np.isfinite(scores)
    document: Histogram = {
        "axis": "linear",
        "edges": [],
        "right": [],
        "wrong": [],
        "infinite_right": int((~finite & ~wrong).sum()),
        "infinite_wrong": int((~finite & wrong).sum()),
    }
    if not finite.any():
        return document
    inside = scores[finite]
    low, high = np.quantile(inside, [OUTER, 1 - OUTER])
    low, high = min(low, *marks), max(high, *marks)
    low, high = (low - 0.5, high + 0.5) if low == high else (low, high)
    if inside.min() >= 0 and min(marks) > 0 and high > HEAVY_TAIL * np.median(inside):
        document["axis"] = "log"
        positive = np.append(inside[inside > 0], marks)
        least = min(np.quantile(positive, OUTER), *marks, high / 2)
        edges = np.geomspace(max(least, high / 10**DECADES), high, BINS + 1)
    else:
        edges = np.linspace(low, high, BINS + 1)
    clipped = np.clip(scores, edges[0], edges[-1])
    document["right"] = np.histogram(clipped[~wrong & finite], edges)[0].tolist()
    document["wrong"] = np.histogram(clipped[wrong & finite], edges)[0].tolist()
    document["edges"] = edges.tolist()
    return document
