"""How good a monitor is on held-out rows. Positive means that the model is wrong; an uncertain
verdict counts as an alarm; a metric that is undefined is None (printed n/a), never 0."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import confusion_matrix, matthews_corrcoef, roc_auc_score


@dataclass(frozen=True)
class Quality:
    """Counts over the rows, and what follows from them."""

    rows: int
    true_alarms: int
    false_alarms: int
    missed: int
    quiet: int
    mcc: float | None
    auroc: float | None
    false_alarm_rate: float | None
    miss_rate: float | None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


def assess(
    alarm: npt.NDArray[np.bool_], score: npt.NDArray[Any], wrong: npt.NDArray[np.bool_]
) -> Quality:
    """Quality of alarms (n,) and scores (n,) where the model is wrong (n,)."""
    quiet, false, missed, true = (
        int(v) for v in confusion_matrix(wrong, alarm, labels=[False, True]).ravel()
    )
    defined = min(true + missed, false + quiet, true + false, missed + quiet) > 0
    both = bool(wrong.any() and not wrong.all())
    return Quality(
        rows=len(wrong),
        true_alarms=true,
        false_alarms=false,
        missed=missed,
        quiet=quiet,
        mcc=float(matthews_corrcoef(wrong, alarm)) if defined else None,
        auroc=float(roc_auc_score(wrong, score.astype(np.float64))) if both else None,
        false_alarm_rate=_share(false, false + quiet),
        miss_rate=_share(missed, true + missed),
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
