"""Fits the monitors of a case, and measures each on all splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare import costs
from edgemon.bench.compare.averages import average
from edgemon.bench.compare.fused import Fused
from edgemon.bench.compare.judges import POOL, Fitter, Judge, Raw, RecordedRows, Scores
from edgemon.bench.compare.measures import KINDS, Numbers, measure
from edgemon.compiler.cross_fitting import cross_fitted
from edgemon.compiler.data.splits import divide
from edgemon.compiler.errors import CompileError
from edgemon.compiler.lessons import (
    FIT_SHARE,
    crosses,
    divided,
    learn_share,
    learns_from_thresholds,
)
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.program.ir import Program
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.statistics.intervals import auroc_interval, mcc_interval

Indices = npt.NDArray[np.int64]
Document = dict[str, Any]


@dataclass(frozen=True)
class PanelOptions:
    """What the command is told, beside the specification."""

    target: FalseAlarmPromise = field(default_factory=FalseAlarmPromise)
    seed: int = 0
    workers: int = 2
    signals: bool = False  # of fusions: what each is worth, alone and in the fusion


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of the pool."""

    calibration: Indices
    test: Indices


@dataclass(frozen=True, eq=False)
class Learned:
    """A fusion on all splits: ``program`` and ``scores`` of the first, ``numbers`` of each, and
    which signals it ``kept`` in each."""

    program: Program
    scores: Scores
    numbers: list[Numbers]
    kept: list[frozenset[str]]


class Panel:
    """The monitors of one case. Fusions learn as ``edgemon compile`` lets them learn: once from the
    fit rows where errors there are like others, else from half of the calibration rows of each
    split, or, where those are too few, once from a third of the fit rows."""

    def __init__(
        self,
        rows: RecordedRows,
        splits: Sequence[Split],
        first_is_fixed: bool,
        options: PanelOptions,
    ) -> None:
        self.rows, self.splits, self.options = rows, splits, options
        self.first_is_fixed = first_is_fixed
        self.wrong = rows.wrong
        fewest = min(splits, key=lambda s: int((~self.wrong[s.calibration]).sum()))
        self._correct = ~self.wrong[fewest.calibration]
        self.learns_from_calibration = learns_from_thresholds(self._correct, options.target)
        self._fitter = self._members = Fitter(rows.fit)
        if not self.learns_from_calibration:
            fit, apart = divided(rows.fit, FIT_SHARE, options.seed)
            self._learn = apart.without_moved
            self._members = Fitter(fit)
        self._judges: dict[int, Judge] = {}
        self._fused: dict[int, Fused] = {}  # by their fusions, which they keep alive

    def judge(self, estimator: MonitorEstimator) -> Document:
        """Bytes and numbers of a monitor, the ``program`` to be timed, or why it is left out."""
        try:
            if estimator.learns_from_held_out:
                return self._fusion(estimator)
            return self._single(estimator)
        except CompileError as error:
            return {"left_out": str(error)}

    def _single(self, estimator: MonitorEstimator) -> Document:
        alone = self._judge(self._fitter.fit(estimator))
        numbers = self.numbers_of(alone)
        raw = None
        if alone.ranked is not None:
            raw = average([self._raw(alone, s) for s in self.splits], self.options.seed)
        return {
            **self.document(alone.ranked or alone.program, alone.scores, numbers),
            "ties_broken": alone.ranked is not None,
            "raw_certified": raw,
        }

    def numbers_of(self, alone: Judge) -> list[Numbers]:
        """Of a monitor by itself, a split each."""
        return [
            measure(
                alone.scores, alone.certified_scores, self.wrong, s.calibration, s.test,
                alone.own_threshold, self.options.target,
            )
            for s in self.splits
        ]  # fmt: skip

    def _raw(self, judge: Judge, split: Split) -> Numbers:
        """What a ranked score is worth without the softmax."""
        return measure(
            judge.scores, judge.scores, self.wrong, split.calibration, split.test, None,
            self.options.target,
        )  # fmt: skip

    def _fusion(self, fusion: MonitorEstimator) -> Document:
        learned = self.learned(self.fused(fusion))
        return {
            **self.document(learned.program, learned.scores, learned.numbers),
            "signals": [{"signal": k, "weight": w} for k, w in fusion.weights_.items()],
        }

    def fused(self, fusion: MonitorEstimator) -> Fused:
        """Its members are fitted, what it learns from held-out rows is not learned yet."""
        if id(fusion) not in self._fused:
            crossed = None
            if crosses(self.rows.fit, self._correct, fusion.taps, fusion.seed):
                fusion.fit_members(self._fitter.rows, self._fitter.fit)
                crossed = cross_fitted(fusion, self.rows.output, self.rows.fit)
            else:
                fusion.fit_members(self._members.rows, self._members.fit)
            judges = tuple(self._judge(m) for m in fusion.members_)
            self._fused[id(fusion)] = Fused.of(fusion, judges, self.rows, crossed)
        return self._fused[id(fusion)]

    def learned(self, fused: Fused) -> Learned:
        """A fusion on all splits."""
        if fused.crossed is not None:
            fused.learn_crossed(fused.crossed)
        elif not self.learns_from_calibration:
            fused.learn_from(self._learn)
        anew = self.learns_from_calibration and fused.crossed is None
        if not anew:
            program = fused.program()
            scores = fused.scores(program)
        numbers: list[Numbers] = []
        kept: list[frozenset[str]] = []
        for split in reversed(self.splits):  # so that the first is known at the end
            calibration = split.calibration
            if anew:
                calibration, learn = self.halves(split, fused.fusion.seed)
                fused.learn(learn)
                program = fused.program()
                scores = fused.scores(program)
            numbers.append(
                measure(
                    scores, scores, self.wrong, calibration, split.test, None, self.options.target
                )
            )
            kept.append(frozenset(fused.fusion.weights_))
        return Learned(program, scores, numbers[::-1], kept[::-1])

    def halves(self, split: Split, seed: int) -> tuple[Indices, Indices]:
        """Calibration rows that set thresholds, and those from which a fusion learns."""
        correct = ~self.wrong[split.calibration]
        kept, learn = divide(correct, learn_share(correct), seed)
        return split.calibration[kept], split.calibration[learn]

    def _judge(self, fitted: MonitorEstimator) -> Judge:
        if id(fitted) not in self._judges:  # members are shared; the fitters keep them alive
            self._judges[id(fitted)] = Judge.of(fitted, self.rows, self.options.target)
        return self._judges[id(fitted)]

    def document(self, program: Program, scores: Scores, numbers: list[Numbers]) -> Document:
        """``program`` (the one that is certified) and ``scores`` are those of the first split."""
        return {
            "program": program,
            "bytes": costs.size_bytes(program),
            "second_inference": program.only(program.monitors[0].name).second_inference,
            "estimated_ns": costs.estimated_ns(program),
            **self.quality(scores, numbers),
        }

    def quality(self, scores: Scores, numbers: list[Numbers]) -> Document:
        """Means over resplits, and of a fixed split its numbers with intervals; ``scores`` are
        those of the first split."""
        seed, test = self.options.seed, self.splits[0].test
        return {
            "resplits": average(numbers[1:] if self.first_is_fixed else numbers, seed),
            "fixed": (
                with_intervals(numbers[0], scores[POOL][test], self.wrong[test], seed)
                if self.first_is_fixed
                else None
            ),
        }


def with_intervals(
    numbers: Numbers, scores: Raw, wrong: npt.NDArray[np.bool_], seed: int
) -> Document:
    """Numbers of one split with bootstrap intervals, for new test rows, of AUROC and MCC."""
    found: Document = {
        key: None if value is None or np.isnan(value) else value for key, value in numbers.items()
    }
    area = found["auroc"]
    found["auroc_interval"] = None if area is None else auroc_interval(scores, wrong, seed=seed)
    n_wrong, n_right = int(wrong.sum()), int((~wrong).sum())
    for kind in KINDS:
        caught, false = found[f"{kind}.caught"], found[f"{kind}.false_alarms"]
        found[f"{kind}.mcc_interval"] = None
        if caught is not None and false is not None:
            tp, fp = round(caught * n_wrong), round(false * n_right)
            found[f"{kind}.mcc_interval"] = mcc_interval(
                (tp, fp, n_right - fp, n_wrong - tp), seed=seed
            )
    return found
