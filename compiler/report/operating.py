"""What other promises would catch: the operating points of a monitor."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import monitors as schema
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.promise.calibration import with_faults
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, Promise
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.statistics.metrics import Confusion
from edgemon.runtime.evaluation import Evaluation

Bools = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]

RATES = (0.01, 0.02, 0.05, 0.1, 0.2)  # of false alarms that are promised


def operating_points(
    fitted: Fitted, promise: Promise, wrong: Bools
) -> list[list[schema.OperatingPoint]]:
    """Of each judge, what thresholds that promise ``RATES`` of it alone do on the test rows, where
    the model is ``wrong`` (n,). None of a judge whose threshold is the method's own, of thresholds
    by class, and of a promise that is not about false alarms."""
    if promise.per_class or not isinstance(promise, FalseAlarmPromise) or not fitted.promised:
        return [[] for _ in fitted.judges]
    concerned = fitted.draws.take(np.flatnonzero(promise.concerns(fitted.draws.correct)))
    held_out = evaluate(fitted.program, concerned) if len(concerned) else None
    return [
        [] if held_out is None or not judge.calibrated
        else _points(held_out, fitted.on_test, i, promise, wrong, judge.monitor.shown)
        for i, judge in enumerate(fitted.judges)
    ]  # fmt: skip


def _points(
    held_out: Evaluation, on_test: Evaluation, monitor: int, promise: FalseAlarmPromise,
    wrong: Bools, shown: Any,
) -> list[schema.OperatingPoint]:  # fmt: skip
    known, scores = with_faults(held_out, monitor), with_faults(on_test, monitor)
    found: list[schema.OperatingPoint] = []
    for rate in sorted({*RATES, promise.rate}):
        other = replace(promise.alone(), rate=rate)
        needed = other.rows_needed()
        point: schema.OperatingPoint = {
            "promised": rate, "rows_needed": needed, "rows": len(known), "threshold": None,
            "caught": None, "caught_interval": None, "false_alarms": None,
            "false_alarms_interval": None, "precision": None,
        }  # fmt: skip
        if len(known) >= needed:
            threshold = other.threshold(known)
            of = Confusion.of(np.asarray(scores > threshold), wrong)
            point |= {
                "threshold": shown(threshold), "caught": of.tpr,
                "caught_interval": of.tpr_interval(), "false_alarms": of.fpr,
                "false_alarms_interval": of.fpr_interval(), "precision": of.precision,
            }  # fmt: skip
        found.append(point)
    return found
