"""Is a bundle no worse than an earlier one on the same rows? Its difference has an interval by
drawing rows with replacement, both bundles' together; it is worse where the whole interval is."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from edgemon.compiler.gates.line import Line
from edgemon.compiler.gates.verdicts import Verdicts
from edgemon.compiler.statistics.intervals import RESAMPLES, mcc, percentiles

Floats = npt.NDArray[np.float64]
NO_WORSE = "no less than 0, within its interval"


def no_worse(new: Verdicts, old: Verdicts, name: str, seed: int = 0) -> Iterator[Line]:
    """A line for the accuracy of the model and one for the MCC of the alarms, new less old; an MCC
    that is undefined counts as 0, for that is what it is worth."""
    kinds = 8 * new.alarm + 4 * new.wrong + 2 * old.alarm + old.wrong
    counts = np.bincount(kinds, minlength=16)
    draws = np.random.default_rng(seed).multinomial(
        len(kinds), counts / len(kinds), RESAMPLES
    )  # fmt: skip
    now, drawn = _differences(counts[None]), _differences(draws)
    for figure in now:
        interval = percentiles(drawn[figure])
        worse = interval is not None and interval[1] < 0
        title, difference = f"{figure} less that of {name}", float(now[figure][0])
        yield Line(title, NO_WORSE, difference, interval, not worse)


def _differences(counts: npt.NDArray[np.int64]) -> dict[str, Floats]:
    """Of (draws, 16) counts of rows by alarm and wrong, of new and of old."""
    table = counts.reshape(-1, 2, 2, 2, 2)
    new, old = table.sum(axis=(3, 4)), table.sum(axis=(1, 2))
    right = (new[:, :, 0].sum(axis=1) - old[:, :, 0].sum(axis=1)) / counts.sum(axis=1)
    return {"accuracy": right, "mcc": _mcc(new) - _mcc(old)}


def _mcc(table: npt.NDArray[np.int64]) -> Floats:
    """Of (draws, alarm, wrong)."""
    cells = [table[:, 1, 1], table[:, 1, 0], table[:, 0, 0], table[:, 0, 1]]
    return np.nan_to_num(mcc(np.stack(cells, axis=1)), nan=0.0)
