"""What an evaluation returns, whichever implementation made it: NumPy, C or ONNX Runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Self

import numpy as np
import numpy.typing as npt


class Verdict(IntEnum):
    """May the classifier's answer be relied on?"""

    TRUST = 0  # no monitor objects
    UNCERTAIN = 1  # a monitor abstains; counts as an alarm in every metric
    ALARM = 2  # do not rely on the answer
    FAULT = 3  # the inputs were unusable


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Results of n rows with M monitors."""

    verdict: npt.NDArray[np.uint8]  # (n,) a Verdict: the worst of the monitors
    reason: npt.NDArray[np.int32]  # (n,) 0, or the em_status of a fault
    predicted: npt.NDArray[np.int32]  # (n,) -1 after a fault of the inputs
    verdicts: npt.NDArray[np.uint8]  # (n, M)
    scores: tuple[npt.NDArray[Any], ...]  # M arrays (n,) in the monitor's raw dtype

    def take(self, rows: npt.ArrayLike) -> Self:
        """The results of these rows."""
        return self._of(lambda values: values[0][np.asarray(rows)], [self])

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """The results of one or more blocks of rows, one after the other."""
        return cls._of(np.concatenate, parts)

    @classmethod
    def _of(cls, made: Callable[[list[Any]], Any], parts: Sequence[Self]) -> Self:
        return cls(
            made([part.verdict for part in parts]),
            made([part.reason for part in parts]),
            made([part.predicted for part in parts]),
            made([part.verdicts for part in parts]),
            tuple(made(list(own)) for own in zip(*(part.scores for part in parts), strict=True)),
        )


def all_faults(
    rows: int, monitors: int
) -> tuple[npt.NDArray[np.uint8], tuple[npt.NDArray[Any], ...]]:
    """Verdicts (n, M) and M scores (n,) of rows that could not even be evaluated."""
    verdicts = np.full((rows, monitors), Verdict.FAULT, np.uint8)
    return verdicts, (np.zeros(rows, np.int64),) * monitors
