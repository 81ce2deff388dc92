"""A monitor's score on a recording, as its author wrote it: by the real program."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.evaluation import predicted_class
from edgemon.compiler.recording.recording import Recording


def real_scores(estimator: MonitorEstimator, rows: Recording) -> npt.NDArray[np.float64]:
    """(n,) of a fitted monitor."""
    builder = Builder(rows.taps, real=True)
    score = estimator.lower(builder, predicted_class(builder, 0))
    program = builder.program(predicted_class(builder, 0), [])
    values = reference.run_real(program, [rows.values(t.name) for t in rows.taps])
    return np.asarray(values[score.id][:, 0])
