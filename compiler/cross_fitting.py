"""What monitors say of the rows that they learn from, each row judged by monitors that did not see
it (cross-fitting: Wolpert, Stacked Generalization, Neural Networks 1992)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sklearn.base import clone

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.program.grids import Represented
from edgemon.compiler.program.ir import Program
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.statistics import tuning

Floats = npt.NDArray[np.float64]


def device_scores(program: Program, represented: Sequence[Represented], rows: Recording) -> Floats:
    """(n, members): scores of fitted monitors, see ``Lowered.represented``, as the device computes
    them."""
    raw = evaluate(program, rows).scores
    return np.column_stack([r.real(s) for r, s in zip(represented, raw, strict=True)])


def cross_fitted(fusion: MonitorEstimator, output: str, rows: Recording) -> Floats:
    """(n, members) device scores of those of the rows that are no moved copies. The rows have
    ``tuning.folds``, and the fusion's members learned from them; members that cannot learn from a
    part of them are left out."""
    members = list(fusion.members_)
    folds = tuning.folds(~rows.correct, fusion.seed, rows.groups)
    scores = np.full((len(rows), len(members)), np.nan)
    failed: dict[MonitorEstimator, str] = {}
    own = ~rows.moved
    for learn, every in folds:
        judge = every[own[every]]
        taught, judged = rows.take(learn), rows.take(judge)
        for i, member in enumerate(members):
            if member in failed:
                continue
            try:
                alone = lowered([clone(member).fit(taught)], rows.taps, output)
                scores[judge, i] = device_scores(*alone.represented(), judged)[:, 0]
            except CompileError as error:
                failed[member] = str(error)
    fusion.leave_out(failed)
    return scores[own][:, [m not in failed for m in members]]
