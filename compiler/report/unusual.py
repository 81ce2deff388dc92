"""What is unusual in a row of a table, beside the rows that monitors learned from."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.documents import shown as schema

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]

TAILS = (0.025, 0.5, 0.975)  # quantiles: what lies outside the outer ones is unusual
MOST_ROWS, FEWEST_ROWS = 5000, 200  # of which quantiles are taken, evenly spaced
MOST_VALUES = 1 << 22  # in them, but for the fewest rows
MOST_COLUMNS = 3  # of a row
NORMAL = 1.4826  # standard deviations of normal numbers in a median absolute deviation


def flat(data: Dataset) -> Floats:
    """(n, columns): rows to compare with, evenly spaced."""
    width = max(1, int(np.prod(data.shape[1:])))
    most = min(len(data), MOST_ROWS, max(FEWEST_ROWS, MOST_VALUES // width))
    at = np.linspace(0, len(data) - 1, most).astype(int)
    (rows,) = data.take(at).blocks(len(at))
    return rows.reshape(len(rows), -1).astype(np.float64)


@dataclass(frozen=True, eq=False)
class Usual:
    """``rows`` (n, columns) to compare with; ``names`` of the columns. What is not finite is
    missing."""

    rows: Floats
    names: Sequence[str]

    @cached_property
    def _known(self) -> Floats:
        return np.where(np.isfinite(self.rows), self.rows, np.nan)

    @cached_property
    def _tails(self) -> Floats:
        """(3, columns); NaN of a column without a value."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of such columns
            return np.asarray(np.nanquantile(self._known, TAILS, axis=0))

    def unusual(self, row: Array) -> list[schema.UnusualValue]:
        """Of a row (columns,), the most unusual values, those farthest out first."""
        values = np.asarray(row, np.float64).ravel()
        low, _, high = self._tails
        usual = (values >= low) & (values <= high)
        candidates = np.flatnonzero(~usual & np.isfinite(low))
        found = [f for i in candidates for f in self._judged(int(i), float(values[i]))]
        found.sort(key=lambda f: -f[1])
        return [value for value, _ in found[:MOST_COLUMNS]]

    def _judged(self, i: int, v: float) -> Iterator[tuple[schema.UnusualValue, float]]:
        """What is said of a value outside the tails of column i, and how far out it is: infinite
        where fit rows do not vary; nothing where so many are missing as it is."""
        low, median, high = (float(q) for q in self._tails[:, i])
        column = self._known[:, i]
        known = column[~np.isnan(column)]
        if not np.isfinite(v):
            beyond = 1 - len(known) / len(column)
            if beyond > TAILS[0]:
                return
        else:
            beyond = float((known <= v).mean() if v < low else (known >= v).mean())
        spread = NORMAL * float(np.median(np.abs(known - median))) or float(known.std())
        z = (v - median) / spread if np.isfinite(v) and spread else None
        value: schema.UnusualValue = {
            "column": self.names[i], "value": v if np.isfinite(v) else None, "median": median,
            "usual": (low, high), "z": z, "beyond": beyond,
        }  # fmt: skip
        yield value, np.inf if z is None else abs(z)
