"""What ``compile`` says about a monitor on held-out rows: a small part of ``metrics``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import monitors as schema
from edgemon.compiler.statistics.metrics import Confusion, auroc


@dataclass(frozen=True)
class Quality:
    """Counts over the rows, and what follows from them; None where undefined."""

    rows: int
    true_alarms: int
    false_alarms: int
    missed: int
    quiet: int
    mcc: float | None
    auroc: float | None
    false_alarm_rate: float | None
    miss_rate: float | None

    def to_json(self) -> schema.Quality:
        return cast(schema.Quality, asdict(self))


def assess(
    alarm: npt.NDArray[np.bool_], score: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]
) -> Quality:
    """Quality of alarms (n,) and scores (n,) where the model is wrong (n,)."""
    found = Confusion.of(alarm, wrong)
    return Quality(
        rows=found.rows,
        true_alarms=found.tp,
        false_alarms=found.fp,
        missed=found.fn,
        quiet=found.tn,
        mcc=found.mcc,
        auroc=auroc(score.astype(np.float64), wrong),
        false_alarm_rate=found.fpr,
        miss_rate=found.fnr,
    )
