"""What a fitted monitor says of a recording: by the real program, and by that of a device."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.recording.evaluation import predicted_class
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.evaluation import Evaluation


def real_scores(estimator: MonitorEstimator, rows: Recording) -> npt.NDArray[np.float64]:
    """(n,), as the monitor's author wrote them."""
    builder = Builder(rows.taps, real=True)
    score = estimator.lower(builder, predicted_class(builder, 0))
    program = builder.program(predicted_class(builder, 0), [])
    values = reference.run_real(program, [rows.values(t.name) for t in rows.taps])
    return np.asarray(values[score.id][:, 0])


def evaluated(estimator: MonitorEstimator, rows: Recording) -> Evaluation:
    """By the device program, under the thresholds that the method sets itself."""
    b = Builder(rows.taps, real=True)
    predicted = b.node("argmax", b.tap("output"))
    s = estimator.lower(b, predicted)
    assert s.alarm_above is not None
    uncertain = s.alarm_above if s.uncertain_above is None else s.uncertain_above
    program = quantise(b.program(predicted, [Monitor("m", s.id, s.alarm_above, uncertain)]))
    return reference.evaluate(program, [rows.codes(t.name) for t in program.taps])
