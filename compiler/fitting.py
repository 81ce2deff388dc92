"""From recordings to a device program: fit, lower, quantise, calibrate, assess.

The threshold of a monitor is calibrated on the *quantised* scores of the threshold rows, computed
by the reference, so that what was promised is what the device computes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler import reference
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError
from edgemon.compiler.ir import Builder, Monitor, Program
from edgemon.compiler.models.decision import ONE_UNIT_ABOVE
from edgemon.compiler.monitors import MonitorEstimator, Score
from edgemon.compiler.passes.quantise import quantise
from edgemon.compiler.quality import Quality, assess
from edgemon.compiler.recording import Recording
from edgemon.compiler.reporter import Progress, unheard
from edgemon.compiler.thresholds import FalseAlarmTarget, calibrate
from edgemon.runtime.evaluation import Evaluation, Verdict

BLOCK = 2048  # rows evaluated at a time


@dataclass(frozen=True, eq=False)
class Fitted:
    """A device program, ready to emit, and what is known about each of its monitors."""

    program: Program
    estimators: tuple[MonitorEstimator, ...]
    calibrated: tuple[bool, ...]  # was the threshold calibrated (else the method's own)?
    quality: tuple[Quality, ...]  # on the test rows, a monitor
    together: Quality  # of the artifact's verdict
    on_test: Evaluation  # the reference's results for the test rows


def fit_monitors(
    estimators: Sequence[MonitorEstimator],
    output: str,
    rows: dict[str, Recording],
    target: FalseAlarmTarget,
    progress: Progress = unheard,
) -> Fitted:
    """Fit on ``rows["fit"]``, calibrate on ``rows["threshold"]``, assess on ``rows["test"]``.

    Args:
        output: name of the tap with the model's output, whose argmax is the prediction.
    """
    builder = Builder(rows["fit"].taps, real=True)
    predicted = _predicted(builder, builder.tap(output))
    scores: list[Score] = []
    for done, estimator in enumerate(estimators):
        scores.append(estimator.fit(rows["fit"]).lower(builder, predicted))
        progress(done + 1, len(estimators))
    program = quantise(builder.program(predicted, list(map(_undecided, estimators, scores))))
    calibrated = tuple(s.alarm_above is None for s in scores)
    program = _calibrate(program, calibrated, rows["threshold"], target)
    on_test = evaluate(program, rows["test"])
    quality, together = _assess(on_test, ~rows["test"].correct)
    return Fitted(program, tuple(estimators), calibrated, quality, together, on_test)


def _predicted(builder: Builder, output: int) -> int:
    """The class node: the argmax, or of one output unit whether it exceeds a half."""
    if builder.value(output).length == 1:
        return builder.node("exceeds", output, tables=[np.array([ONE_UNIT_ABOVE])])
    return builder.node("argmax", output)


def _undecided(estimator: MonitorEstimator, score: Score) -> Monitor:
    alarm = 0.0 if score.alarm_above is None else score.alarm_above
    uncertain = alarm if score.uncertain_above is None else score.uncertain_above
    return Monitor(estimator.kind, score.id, alarm, uncertain, score.display, score.display_scale)


def _calibrate(
    program: Program, wanted: tuple[bool, ...], rows: Recording, target: FalseAlarmTarget
) -> Program:
    if not any(wanted):
        return program
    scores = evaluate(program, rows.take(np.flatnonzero(rows.correct))).scores
    monitors = []
    for monitor, calibrates, score in zip(program.monitors, wanted, scores, strict=True):
        if calibrates:
            threshold = calibrate(score, target)
            monitor = replace(monitor, alarm_above=threshold, uncertain_above=threshold)
        monitors.append(monitor)
    return program.with_monitors(monitors)


def _assess(found: Evaluation, wrong: npt.NDArray[np.bool_]) -> tuple[tuple[Quality, ...], Quality]:
    each = tuple(
        assess(found.verdicts[:, i] != Verdict.TRUST, score, wrong)
        for i, score in enumerate(found.scores)
    )
    return each, assess(found.verdict != Verdict.TRUST, found.verdict, wrong)


def blocks(program: Program, rows: Recording) -> Iterator[list[npt.NDArray[Any]]]:
    """The program's taps over all rows, in blocks."""
    for start in range(0, len(rows), BLOCK):
        index = np.arange(start, min(start + BLOCK, len(rows)))
        yield [np.asarray(rows.codes(t.name, index)) for t in program.taps]


def evaluate(program: Program, rows: Recording) -> Evaluation:
    """The reference's results for all rows."""
    parts = [reference.evaluate(program, taps) for taps in blocks(program, rows)]
    if not parts:
        raise CompileError("no rows to evaluate")
    scores = zip(*(p.scores for p in parts), strict=True)
    return Evaluation(
        np.concatenate([p.verdict for p in parts]),
        np.concatenate([p.reason for p in parts]),
        np.concatenate([p.predicted for p in parts]),
        np.concatenate([p.verdicts for p in parts]),
        tuple(np.concatenate(s) for s in scores),
    )


def self_test(program: Program, rows: Recording) -> flat.SelfTest:
    """Vectors for the device's power-on test: for each monitor a row of each verdict that occurs,
    and one with a NaN where a tap is float."""
    found = evaluate(program, rows)
    chosen = {0}
    for column in found.verdicts.T:
        chosen |= {int(np.argmax(column == v)) for v in np.unique(column)}
    index = np.array(sorted(chosen))
    taps = [np.array(rows.codes(t.name, index)) for t in program.taps]
    floats = [i for i, t in enumerate(program.taps) if t.dtype == "float32"]
    if floats:
        taps = [np.concatenate([x, x[:1]]) for x in taps]
        taps[floats[0]][-1, -1] = np.nan
    return flat.SelfTest(tuple(taps), reference.evaluate(program, taps))
