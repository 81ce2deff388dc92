"""Scores before thresholds are set: do they vary, and are their ties ranked by the softmax?

Fit rows tell, so that threshold rows stay untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.estimator import Score
from edgemon.compiler.monitors.shared.ties import TieBreak, ties_cost_power
from edgemon.compiler.monitors.shared.vectors import softmax_odds
from edgemon.compiler.program.ir import Builder, Monitor
from edgemon.compiler.program.quantise import quantise_scores
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording

Floats = npt.NDArray[np.float64]

MOST_ROWS = 4096  # fit rows on which scores are looked at


@dataclass(frozen=True, eq=False)
class Looked:
    """Device scores (m,) of fit rows as people are shown them, and the softmax's odds (m,)."""

    scores: tuple[Floats, ...]
    odds: Floats
    correct: npt.NDArray[np.bool_]


def look(
    builder: Builder, predicted: int, scores: Sequence[Score], logits: str, rows: Recording
) -> tuple[Looked, int]:
    """At the scores of the first ``MOST_ROWS`` rows; also the id of the softmax's node."""
    rows = rows.take(np.arange(min(len(rows), MOST_ROWS)))
    softmax = softmax_odds(builder, logits, predicted)
    monitors = [Monitor(str(i), s.id, 0.0, 0.0) for i, s in enumerate([*scores, Score(softmax)])]
    program, represented = quantise_scores(builder.program(predicted, monitors))
    raw = evaluate(program.trimmed(), rows).scores
    *found, odds = (r.real(s) for r, s in zip(represented, raw, strict=True))
    return Looked(tuple(found), odds, rows.correct), softmax


def constant(values: npt.NDArray[Any]) -> bool:
    """Have all rows (n,) one score?"""
    return bool((values == values[:1]).all())


def require_varied(
    builder: Builder, predicted: int, scores: Sequence[Score], names: Sequence[str],
    looked: Looked, rows: Sequence[Recording],
) -> None:  # fmt: skip
    """Raises CompileError if a score is the same for all of these rows, fit rows and threshold
    rows: some methods find nothing on the rows that they learned from."""
    for name, score, values in zip(names, scores, looked.scores, strict=True):
        if not constant(values):
            continue
        program, _ = quantise_scores(
            builder.program(predicted, [Monitor(name, score.id, 0.0, 0.0)])
        )
        program = program.trimmed()
        if constant(np.concatenate([evaluate(program, part).scores[0] for part in rows])):
            count = sum(map(len, rows))
            raise CompileError(
                f"{name}: its score is the same for all {count:,} fit and threshold rows, so that "
                "it cannot tell right answers from wrong ones; leave this monitor out, or try "
                "other taps or settings"
            )


def without_ties(
    builder: Builder, scores: Sequence[Score], asked: Sequence[bool], looked: Looked, softmax: int,
    rate: float,
) -> list[Score]:  # fmt: skip
    """The scores, of which those that are ``asked`` are ranked anew where their ties would cost the
    threshold for a false-alarm ``rate`` its power."""
    right = looked.correct
    if not right.any():
        return list(scores)
    return [
        TieBreak.of(values, looked.odds[right]).lower(builder, score, softmax)
        if wanted and ties_cost_power(values[right], looked.odds[right], rate)
        else score
        for score, wanted, values in zip(scores, asked, looked.scores, strict=True)
    ]
