"""How much novelty counts beside errors: no error can teach it, but errors can bound it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from sklearn.metrics import roc_auc_score

from edgemon.compiler.statistics.tuning import FEWEST_ERRORS

Floats = npt.NDArray[np.float64]

LEAST, MOST, STEP = 0.4, 1.0, 0.1  # of a nat, for each nat of the stack's surprise
MOST_LOST = 0.02  # of the partial AUROC
FALSE_ALARMS = 0.1  # up to which the AUROC is looked at: what a threshold can be set to


def novelty_weight(stack: Floats, novelty: Floats, wrong: npt.NDArray[np.bool_]) -> float:
    """The largest weight, from ``LEAST`` on, with which errors are still told from right answers
    as the stack alone tells them, but for ``MOST_LOST``; ``LEAST`` where errors are too few to
    tell.

    Args:
        stack: (n,) its surprise on held-out rows. novelty: (n,) of novelty signals, summed.
        wrong: (n,), the model's.
    """
    if min(wrong.sum(), (~wrong).sum()) < FEWEST_ERRORS:
        return LEAST

    def worth(weight: float) -> float:
        return float(roc_auc_score(wrong, stack + weight * novelty, max_fpr=FALSE_ALARMS))

    least = worth(0.0) - MOST_LOST
    found = LEAST
    for step in range(1, round((MOST - LEAST) / STEP) + 1):
        weight = round(LEAST + step * STEP, 6)
        if worth(weight) < least:
            break
        found = weight
    return found
