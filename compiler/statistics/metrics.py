"""How well alarms and scores tell wrong answers from right ones.

Positive means that the model is wrong; an uncertain verdict counts as an alarm; a higher score is
more suspicious. A metric that is undefined is None (printed n/a), never 0.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata
from sklearn.metrics import (
    auc,
    average_precision_score,
    confusion_matrix,
    f1_score,
    matthews_corrcoef,
    roc_auc_score,
    roc_curve,
)

from edgemon.compiler.statistics.intervals import (
    CAUGHT,
    RESAMPLES,
    Interval,
    RankingIntervals,
    clopper_pearson,
    mcc_interval,
)

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Confusion:
    """Rows by alarm and by whether the model is wrong."""

    tp: int  # alarm, wrong
    fp: int  # alarm, right
    tn: int  # no alarm, right
    fn: int  # no alarm, wrong

    @classmethod
    def of(cls, alarm: Bools, wrong: Bools) -> Confusion:
        """Counts of n rows."""
        tn, fp, fn, tp = confusion_matrix(wrong, alarm, labels=[False, True]).ravel().tolist()
        return cls(tp, fp, tn, fn)

    @property
    def rows(self) -> int:
        return self.tp + self.fp + self.tn + self.fn

    @property
    def tpr(self) -> float | None:
        """True positive rate, also called recall: share of the wrong answers that alarm."""
        return _share(self.tp, self.tp + self.fn)

    @property
    def fnr(self) -> float | None:
        """Share of the wrong answers that are missed."""
        return _share(self.fn, self.tp + self.fn)

    @property
    def fpr(self) -> float | None:
        """False positive rate: share of the right answers that alarm."""
        return _share(self.fp, self.fp + self.tn)

    @property
    def precision(self) -> float | None:
        """Share of the alarms that are on wrong answers."""
        return _share(self.tp, self.tp + self.fp)

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall; None without a wrong answer and an alarm."""
        if not self.tp + self.fp + self.fn:
            return None
        wrong, alarm, weight = self._table()
        return float(f1_score(wrong, alarm, sample_weight=weight, zero_division=0.0))

    @property
    def mcc(self) -> float | None:
        """Matthews correlation; None if a row or a column of the table is empty."""
        if not min(self.tp + self.fn, self.fp + self.tn, self.tp + self.fp, self.tn + self.fn):
            return None
        wrong, alarm, weight = self._table()
        return float(matthews_corrcoef(wrong, alarm, sample_weight=weight))

    def tpr_interval(self) -> Interval | None:
        """Clopper-Pearson 95 % interval of ``tpr``."""
        return clopper_pearson(self.tp, self.tp + self.fn)

    def fpr_interval(self) -> Interval | None:
        """Clopper-Pearson 95 % interval of ``fpr``."""
        return clopper_pearson(self.fp, self.fp + self.tn)

    def precision_interval(self) -> Interval | None:
        """Clopper-Pearson 95 % interval of ``precision``."""
        return clopper_pearson(self.tp, self.tp + self.fp)

    def _table(self) -> tuple[Array, Array, Array]:
        """The four kinds of rows once each, with their counts as weights."""
        return (
            np.array([True, False, False, True]),
            np.array([True, True, False, False]),
            np.array([self.tp, self.fp, self.tn, self.fn]),
        )


def legacy(confusion: Confusion) -> Confusion:
    """True and false positives exchanged, as in the tables of the published study of Prophecy and
    DeepInfer. For comparing with those tables only."""
    return Confusion(confusion.fp, confusion.tp, confusion.tn, confusion.fn)


def auroc(score: Array, wrong: Bools) -> float | None:
    """Area under the ROC curve; None unless there are wrong and right answers."""
    if wrong.all() or not wrong.any():
        return None
    return float(roc_auc_score(wrong, score))


def aupr(score: Array, wrong: Bools) -> float | None:
    """Average precision; None without a wrong answer."""
    return float(average_precision_score(wrong, score)) if wrong.any() else None


def aupr_right(score: Array, wrong: Bools) -> float | None:
    """Average precision of the right answers, ranked by how little suspicious they are (AUPR-in,
    AUPR-success); None without a right answer."""
    return aupr(-score, ~wrong)


def fpr_at_95_tpr(score: Array, wrong: Bools) -> float | None:
    """The least share of the right answers above a threshold on the score (at it counts as above)
    that at least 95 % of the wrong ones are above (FPR95); None unless there are wrong and right
    answers."""
    if wrong.all() or not wrong.any():
        return None
    fpr, tpr, _ = roc_curve(wrong, score, drop_intermediate=False)
    needed = np.ceil(CAUGHT * wrong.sum() - 1e-9) / wrong.sum()
    return float(fpr[np.searchsorted(tpr, needed - 1e-12)])


@dataclass(frozen=True, eq=False)
class RiskCoverage:
    """Share of wrong answers (risk) among the least suspicious share of rows (coverage). Rows with
    equal scores enter together."""

    coverage: npt.NDArray[np.float64]  # ascending, up to 1
    risk: npt.NDArray[np.float64]

    @classmethod
    def of(cls, score: Array, wrong: Bools) -> RiskCoverage:
        """The curve of n rows, at each distinct score."""
        order = np.argsort(score, kind="stable")
        last_of_tie = np.flatnonzero(np.append(np.diff(score[order]) > 0, True))
        accepted = last_of_tie + 1
        risk = np.cumsum(wrong[order])[last_of_tie] / accepted
        return cls(accepted / len(score), risk)

    def thinned(self, most: int) -> RiskCoverage:
        """So many points at most, the first and the last among them."""
        n = len(self.coverage)
        kept = np.unique(np.linspace(0, n - 1, min(n, most)).astype(int))
        return RiskCoverage(self.coverage[kept], self.risk[kept])

    @property
    def area(self) -> float:
        """AURC, by trapezoids; the curve starts at coverage 0 with the risk of its first point."""
        return float(auc(np.insert(self.coverage, 0, 0.0), np.insert(self.risk, 0, self.risk[0])))


@dataclass(frozen=True)
class Metrics:
    """Everything about one monitor on n rows. Intervals are for 95 %."""

    rows: int
    wrong: int
    confusion: Confusion
    tpr: float | None
    tpr_interval: Interval | None
    fpr: float | None
    fpr_interval: Interval | None
    precision: float | None
    precision_interval: Interval | None
    f1: float | None
    mcc: float | None
    mcc_interval: Interval | None
    auroc: float | None
    auroc_interval: Interval | None
    aupr: float | None  # average precision of the wrong answers
    aupr_interval: Interval | None
    aupr_right: float | None
    aupr_right_interval: Interval | None
    fpr_at_95_tpr: float | None
    fpr_at_95_tpr_interval: Interval | None
    aurc: float | None


def measure(
    alarm: Bools, wrong: Bools, score: Array | None = None, *, seed: int = 0,
    resamples: int = RESAMPLES,
) -> Metrics:  # fmt: skip
    """All metrics of alarms (n,) and, where there are any, scores (n,; infinite ones are allowed),
    with the model wrong (n,). ``resamples``: draws of the intervals of rankings."""
    confusion = Confusion.of(alarm, wrong)
    rank = None if score is None else rankdata(score)
    area = None if rank is None else auroc(rank, wrong)
    within = RankingIntervals(None, None, None, None)
    if rank is not None and area is not None:
        within = RankingIntervals.of(rank, wrong, seed=seed, resamples=resamples)
    return Metrics(
        rows=confusion.rows,
        wrong=confusion.tp + confusion.fn,
        confusion=confusion,
        tpr=confusion.tpr,
        tpr_interval=confusion.tpr_interval(),
        fpr=confusion.fpr,
        fpr_interval=confusion.fpr_interval(),
        precision=confusion.precision,
        precision_interval=confusion.precision_interval(),
        f1=confusion.f1,
        mcc=confusion.mcc,
        mcc_interval=mcc_interval(astuple(confusion), seed=seed),
        auroc=area,
        auroc_interval=within.auroc,
        aupr=None if rank is None else aupr(rank, wrong),
        aupr_interval=within.aupr,
        aupr_right=None if rank is None else aupr_right(rank, wrong),
        aupr_right_interval=within.aupr_right,
        fpr_at_95_tpr=None if rank is None else fpr_at_95_tpr(rank, wrong),
        fpr_at_95_tpr_interval=within.fpr_at_95_tpr,
        aurc=None if rank is None else RiskCoverage.of(rank, wrong).area,
    )


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
