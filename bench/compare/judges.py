"""Monitors of a case: fitted once, and what their device programs say of all rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.monitors.shared import ranking
from edgemon.compiler.program.grids import Represented
from edgemon.compiler.program.ir import Program
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording

Raw = npt.NDArray[np.number]
Scores = dict[str, Raw]  # raw, by the name of the rows
POOL = ""  # beside the names of novel sets


@dataclass(frozen=True, eq=False)
class RecordedRows:
    """What was recorded: the pool in one or two parts, and novel sets by name."""

    output: str  # name of the tap with the model's output
    logits: str  # name of the tap whose softmax breaks ties
    fit: Recording
    pool: tuple[Recording, ...]
    novel: dict[str, Recording]

    @property
    def wrong(self) -> npt.NDArray[np.bool_]:
        """(n,) of the pool: is the model wrong?"""
        return np.concatenate([~part.correct for part in self.pool])


@dataclass(frozen=True, eq=False)
class Judge:
    """One fitted monitor as a device program of its own."""

    program: Program
    represented: Represented
    own_threshold: float | int | None  # the method's: what exceeds it is not trusted
    ranked: Program | None  # the score that is certified, where it would tie otherwise
    scores: Scores  # of the pool and of novel sets
    certified_scores: Scores  # of ``ranked``, or the same

    @classmethod
    def of(cls, estimator: MonitorEstimator, rows: RecordedRows, promise: Promise) -> Judge:
        """Lower a fitted estimator and evaluate it on everything."""
        plain = lowered([estimator], rows.fit.taps, rows.output)
        program, (represented,) = plain.represented()
        own = None if plain.scores[0].alarm_above is None else program.monitors[0].uncertain_above
        program, ranked = program.trimmed(), None
        scores = certified = all_scores(program, rows)
        builder, predicted = plain.builder, plain.predicted
        given = rows.fit.as_given
        looked, softmax = ranking.look(builder, predicted, plain.scores, rows.logits, given)
        (without,) = ranking.without_ties(
            builder, plain.scores, [True], looked, softmax, promise.rate
        )
        if without is not plain.scores[0]:
            ranked = replace(plain, scores=(without,)).quantised()
            certified = all_scores(ranked, rows)
        return cls(program, represented, own, ranked, scores, certified)

    def judge(self, rows: Recording) -> Raw:
        """Raw scores (n,) of other rows."""
        return evaluate(self.program, rows).scores[0]


def all_scores(program: Program, rows: RecordedRows) -> Scores:
    """Raw scores of a program's first monitor: of the pool, and of novel sets by name."""
    pool = [evaluate(program, part).scores[0] for part in rows.pool]
    novel = {name: evaluate(program, part).scores[0] for name, part in rows.novel.items()}
    return {POOL: np.concatenate(pool), **novel}


class Fitter:
    """Fits estimators on one recording, equal ones only once."""

    def __init__(self, rows: Recording) -> None:
        self.rows = rows
        self._known: dict[str, MonitorEstimator | CompileError] = {}

    def fit(self, estimator: MonitorEstimator) -> MonitorEstimator:
        """This estimator or an equal one, fitted. Raises CompileError if it cannot learn."""
        key = repr((estimator.kind, estimator.get_params(deep=False)))
        if key not in self._known:
            try:
                self._known[key] = estimator.fit(self.rows)
            except CompileError as error:
                self._known[key] = error
        found = self._known[key]
        if isinstance(found, CompileError):
            raise found
        return found
