"""What a monitor is worth on one benchmark set.

Two oracles. *Specific*: positive is a row with the fault. *Overall*: positive is a row on which the
model is wrong, and a novel row always is. An alarm is any verdict but trust.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.farm.compiled import CERTIFIED, NATIVE, Judgement
from edgemon.compiler.statistics.intervals import mcc as mcc_of
from edgemon.compiler.statistics.metrics import Confusion, measure

Bools = npt.NDArray[np.bool_]
Document = dict[str, Any]

SPECIFIC, OVERALL = "specific", "overall"
ORACLES = (SPECIFIC, OVERALL)
RESAMPLES = 200  # of the rows, for intervals of rankings; those of the MCC take 2,000
COSTS = (1, 5, 20)  # of a wrong answer that passes, in right ones


@dataclass(frozen=True, eq=False)
class Rows:
    """Of the n rows of a set, the clean ones first: labels (-1: of no class), what the model
    answers, and which have the fault."""

    labels: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    faulty: Bools

    @property
    def wrong(self) -> Bools:
        return np.asarray(self.labels != self.predicted)

    def positive(self, oracle: str) -> Bools:
        return self.faulty if oracle == SPECIFIC else self.wrong


def judge(rows: Rows, found: Judgement, oracle: str, prevalence: float, seed: int) -> Document:
    """All numbers of one oracle; None where undefined. Those of the method's own threshold are
    under ``native``, which is None where it has none."""
    positive = rows.positive(oracle)
    all_of = measure(found.alarms[CERTIFIED], positive, found.score, seed=seed, resamples=RESAMPLES)
    return {
        "oracle": oracle,
        "positive": int(positive.sum()),
        **_of_alarms(rows, found.alarms[CERTIFIED], positive, prevalence),
        "mcc_interval": all_of.mcc_interval,
        "fpr_interval": all_of.fpr_interval,
        "recall_interval": all_of.tpr_interval,
        "precision_interval": all_of.precision_interval,
        "auroc": all_of.auroc, "auroc_interval": all_of.auroc_interval,
        "aupr": all_of.aupr, "aupr_interval": all_of.aupr_interval,
        "aupr_negative": all_of.aupr_right,
        "aupr_negative_interval": all_of.aupr_right_interval,
        "fpr_at_95_tpr": all_of.fpr_at_95_tpr,
        "fpr_at_95_tpr_interval": all_of.fpr_at_95_tpr_interval,
        "aurc": all_of.aurc,
        "native": (
            _of_alarms(rows, found.alarms[NATIVE], positive, prevalence)
            if NATIVE in found.alarms
            else None
        ),
    }  # fmt: skip


def _of_alarms(rows: Rows, alarm: Bools, positive: Bools, prevalence: float) -> Document:
    table = Confusion.of(alarm, positive)
    return {
        "tp": table.tp, "fp": table.fp, "tn": table.tn, "fn": table.fn,
        "mcc": table.mcc, "fpr": table.fpr, "fnr": table.fnr, "precision": table.precision,
        "recall": table.tpr, "f1": table.f1, "weighted_f1": weighted_f1(table),
        "mcc_at_prevalence": _reweighted(alarm, positive, rows.faulty, prevalence),
    }  # fmt: skip


def weighted_f1(table: Confusion) -> float | None:
    """The F1 of alarms and that of silence, each weighted with how many rows it should be; None of
    no rows."""
    if not table.rows:
        return None
    alarms = 2 * table.tp / max(1, 2 * table.tp + table.fp + table.fn)
    silence = 2 * table.tn / max(1, 2 * table.tn + table.fp + table.fn)
    share = (table.tp + table.fn) / table.rows
    return share * alarms + (1 - share) * silence


def _reweighted(alarm: Bools, positive: Bools, faulty: Bools, prevalence: float) -> float | None:
    """The MCC if so large a share of the rows had the fault."""
    weight = np.where(faulty, prevalence / faulty.mean(), (1 - prevalence) / (1 - faulty.mean()))
    table = ((alarm, positive), (alarm, ~positive), (~alarm, ~positive), (~alarm, positive))
    cells = [weight[a & p].sum() for a, p in table]
    value = float(mcc_of(np.array(cells)))
    return None if np.isnan(value) else value
