"""What an evaluation returns, whichever implementation made it: NumPy, C or ONNX Runtime."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

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
