"""Model and monitor together: an alarm takes the answer back.

``mcc`` is the one of several classes (Gorodkin 2004), in which a rejected answer is a class of its
own and right for novel rows alone: it punishes a rejection as an error. The other figures do not:
the accuracy of what passes, its share (coverage), the share of all rows that are wrong and pass
(unsafe), and the utility, right passed - c * wrong passed, as a share of all rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import matthews_corrcoef

from edgemon.bench.farm.compiled import Judgement
from edgemon.bench.farm.measures import COSTS, Rows

Bools = npt.NDArray[np.bool_]
Document = dict[str, Any]

REJECTED = -1  # the label of novel rows too


def system(rows: Rows, found: Judgement) -> dict[str, Document]:
    """By kind of threshold."""
    return {kind: together(rows, alarm) for kind, alarm in found.alarms.items()}


def together(rows: Rows, alarm: Bools) -> Document:
    """With these alarms (n,); none is the model alone. ``pays_above``: the cost c from which on the
    monitor is worth more than the model alone; 0 if always, None if never."""
    wrong, passed = rows.wrong, ~alarm
    right_passed, wrong_passed = int((passed & ~wrong).sum()), int((passed & wrong).sum())
    n, lost, caught = len(alarm), int((alarm & ~wrong).sum()), int((alarm & wrong).sum())
    answers = np.where(alarm, REJECTED, rows.predicted)
    varied = len(np.unique(answers)) > 1 and len(np.unique(rows.labels)) > 1
    return {
        "mcc": float(matthews_corrcoef(rows.labels, answers)) if varied else None,
        "accuracy_passed": right_passed / max(1, int(passed.sum())) if passed.any() else None,
        "coverage": float(passed.mean()),
        "unsafe": wrong_passed / n,
        "utility": {str(c): (right_passed - c * wrong_passed) / n for c in COSTS},
        "pays_above": lost / caught if caught else None,
    }


def alone(rows: Rows) -> Document:
    """The model without a monitor."""
    return together(rows, np.zeros(len(rows.labels), bool))
