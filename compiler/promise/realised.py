"""The promised rate as it came out on test rows, by row and with one row of each set of alike rows.

The two differ where rows repeat or come in groups, and which of them is the promised one depends on
how rows are drawn: independently, or a group at a time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import cast

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.groups import Groups
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.promise.calibration import independent
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics.intervals import clopper_pearson
from edgemon.runtime.evaluation import Evaluation, Verdict

VERDICT = "verdict"


@dataclass(frozen=True)
class Share:
    """The share of ``rows`` that break a promise, out of those it concerns; None without any."""

    rows: int
    rate: float | None
    interval: tuple[float, float] | None

    @classmethod
    def of(cls, broken: npt.NDArray[np.bool_]) -> Share:
        """From where it is broken, (rows,)."""
        n, k = len(broken), int(broken.sum())
        return cls(n, k / n if n else None, clopper_pearson(k, n))


@dataclass(frozen=True)
class Realised:
    """By monitor, and of the ``VERDICT`` of those whose thresholds are promised, or else of all."""

    by_row: dict[str, Share]
    by_set: dict[str, Share] | None  # None where every row stands by itself
    sets: str | None  # what rows have in common: "group" or "values"

    def to_json(self) -> schema.Realised:
        return cast(schema.Realised, asdict(self))


def realised(
    on_test: Evaluation, promised: Mapping[str, bool], promise: Promise, test: Recording,
    contents: Groups, seed: int,
) -> Realised:  # fmt: skip
    """The shares of verdicts on test rows that break a promise.

    ``promised``: by the names of the monitors that judge, are their thresholds a promise?
    ``contents`` (n,) of the test rows, see ``data.repeats``."""
    alike, sets = (contents, "values") if test.groups is None else (test.groups, "group")
    rows = np.flatnonzero(promise.concerns(test.correct))
    by_row = _shares(on_test, promised, promise, rows)
    if len(np.unique(alike)) == len(alike):
        return Realised(by_row, None, None)
    chosen = independent(test.grouped(alike), promise, seed)
    return Realised(by_row, _shares(on_test, promised, promise, chosen), sets)


def _shares(
    on_test: Evaluation, promised: Mapping[str, bool], promise: Promise,
    rows: npt.NDArray[np.int64],
) -> dict[str, Share]:  # fmt: skip
    misses = promise.of == "misses"
    verdicts = {name: on_test.verdicts[rows, i] for i, name in enumerate(promised)}
    joint = [i for i, yes in enumerate(promised.values()) if yes]
    among = joint or list(range(len(promised)))
    verdicts[VERDICT] = on_test.verdicts[rows][:, among].max(axis=1)
    return {
        name: Share.of((found == Verdict.TRUST) if misses else (found != Verdict.TRUST))
        for name, found in verdicts.items()
    }
