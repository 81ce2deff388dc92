"""What is unusual in a row of a table, beside the rows that monitors learned from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.documents import shown as schema

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

TAILS = (0.025, 0.5, 0.975)  # quantiles: what lies outside the outer ones is unusual
MOST_ROWS = 5000  # of which quantiles are taken, evenly spaced
MOST_COLUMNS = 3  # of a row
NORMAL = 1.4826  # standard deviations of normal numbers in a median absolute deviation


def flat(data: Dataset, most: int = MOST_ROWS) -> Floats:
    """(n, columns): so many rows at most, evenly spaced."""
    at = np.linspace(0, len(data) - 1, min(most, len(data))).astype(int)
    (rows,) = data.take(at).blocks(len(at))
    return rows.reshape(len(rows), -1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Usual:
    """``rows`` (n, columns) to compare with; ``names`` of the columns. A NaN is a missing value."""

    rows: Floats
    names: Sequence[str]

    def unusual(self, row: Array) -> list[schema.UnusualValue]:
        """Of a row (columns,), the most unusual values, those farthest out first."""
        found = [
            (value, distance)
            for i, v in enumerate(np.asarray(row, np.float64).ravel())
            for value, distance in self._judged(i, float(v))
        ]
        found.sort(key=lambda f: -f[1])
        return [value for value, _ in found[:MOST_COLUMNS]]

    def _judged(self, i: int, v: float) -> list[tuple[schema.UnusualValue, float]]:
        """Nothing if the value of column i is usual, else what is said of it, and how far out it
        is: infinite where fit rows do not vary."""
        column = self.rows[:, i]
        known = column[np.isfinite(column)]
        if not len(known):
            return []
        low, median, high = (float(q) for q in np.quantile(known, TAILS))
        if not np.isfinite(v):
            beyond = 1 - len(known) / len(column)
        elif low <= v <= high:
            return []
        else:
            beyond = float((known <= v).mean() if v < low else (known >= v).mean())
        if beyond > TAILS[0]:
            return []
        spread = NORMAL * float(np.median(np.abs(known - median))) or float(known.std())
        z = (v - median) / spread if np.isfinite(v) and spread else None
        value: schema.UnusualValue = {
            "column": self.names[i], "value": v if np.isfinite(v) else None, "median": median,
            "usual": (low, high), "z": z, "beyond": beyond,
        }  # fmt: skip
        return [(value, np.inf if z is None else abs(z))]
