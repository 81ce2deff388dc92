"""What a bundle says of rows: which alarm, and where its model is wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from edgemon.compiler.promise.calibration import with_faults
from edgemon.compiler.statistics.intervals import (
    Interval,
    auroc_interval,
    clopper_pearson,
    mcc_interval,
)
from edgemon.compiler.statistics.metrics import Confusion, auroc
from edgemon.runtime.evaluation import Evaluation, Verdict

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Figure = tuple[float | None, Interval | None]


@dataclass(frozen=True, eq=False)
class Verdicts:
    """Of n labelled rows: ``alarm`` (n,), anything but trust; ``wrong`` (n,); ``score`` (n,): ranks
    by the first monitor's, faults last."""

    alarm: Bools
    wrong: Bools
    score: Floats

    @classmethod
    def of(cls, found: Evaluation, correct: Bools) -> Verdicts:
        """Of an evaluation, and where the model's answer is right (n,)."""
        return cls(found.verdict != Verdict.TRUST, ~correct, rankdata(with_faults(found, 0)))

    def figures(self) -> dict[str, Callable[[], Figure]]:
        """By name of ``wanted.FIGURES``; with 95 % intervals, some of which take a while."""
        of, n = Confusion.of(self.alarm, self.wrong), len(self.wrong)
        right = int((~self.wrong).sum())
        counts = (of.tp, of.fp, of.tn, of.fn)
        return {
            "caught": lambda: (of.tpr, of.tpr_interval()),
            "false_alarms": lambda: (of.fpr, of.fpr_interval()),
            "precision": lambda: (of.precision, of.precision_interval()),
            "mcc": lambda: (of.mcc, mcc_interval(counts)),
            "auroc": self._auroc,
            "accuracy": lambda: (right / n if n else None, clopper_pearson(right, n)),
        }

    def _auroc(self) -> Figure:
        area = auroc(self.score, self.wrong)
        return area, None if area is None else auroc_interval(self.score, self.wrong)
