"""The drift test of a fitted program, and what its manifest says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.stats import ks_2samp

from edgemon.compiler.data.groups import Groups, one_of_each
from edgemon.compiler.documents import measured as schema
from edgemon.compiler.program.ir import Program
from edgemon.compiler.promise.drift.choice import (
    FEWEST_ROWS,
    design_half,
    fit_drift,
    measure_run_length,
)
from edgemon.compiler.promise.drift.detector import UNIT, DriftReference, DriftTest
from edgemon.compiler.promise.drift.watched import Watched, scores_of
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.evaluation import Evaluation

Array = npt.NDArray[Any]

SURE = 1e-3  # p-value below which threshold and test rows are not alike


def guard(
    program: Program, judges: int, watched: Watched, held_out: Recording, test: Recording,
    tested: Evaluation, *, run_length: int, confidence: float, seed: int, reporter: Reporter,
) -> tuple[DriftTest | None, schema.Drift | None]:  # fmt: skip
    """Fit the test on the scores of the ``watched`` monitor, of which the first ``judges`` have a
    threshold, on threshold rows, ``held_out``, and measure it on those of the ``test`` rows, of
    which ``tested`` are the results; where rows come in groups, in streams of whole groups. None,
    None for a run length of 0, or with a warning where the rows are too few."""
    if run_length == 0:
        return None, None
    at = watched.monitor
    monitor = program.monitors[at]
    scores, faults = scores_of(evaluate(program, held_out), at)
    groups = None if held_out.groups is None else held_out.groups[~faults]
    found = fit_drift(
        scores, monitor.alarm_above if at < judges else None, at,
        run_length=run_length, confidence=confidence, seed=seed, groups=groups,
        in_design=design_half(len(faults), seed, held_out.groups)[~faults],
    )  # fmt: skip
    if found is None:
        count = len(scores) if groups is None else len(np.unique(groups))
        what = "rows" if groups is None else "groups of threshold rows"
        if count < FEWEST_ROWS:
            why, remedy = "are too few", f"more {what} (--calibrate)"
        else:
            why = f"with the few scores of {monitor.name} are no base"
            remedy = "a monitor with finer scores first (--monitor)"
        reporter.warn(
            f"{count} {'threshold rows' if groups is None else what} {why} for a drift test, the "
            f"bundle has none: give {remedy}, or none is wanted with --drift-run-length 0"
        )
        return None, None
    on_test, faults = scores_of(tested, at)
    test_groups = None if test.groups is None else test.groups[~faults]
    stream = DriftReference(found.test)
    order = np.random.default_rng(seed).permutation(len(faults))  # files are often sorted by class
    stream.update(tested.scores[at][order], faults[order])
    alike = _alike(scores, groups, on_test, test_groups, seed)
    if alike is not None and alike < SURE:
        reporter.warn(
            f"scores of {monitor.name} are distributed on the test rows unlike on the threshold "
            f"rows (Kolmogorov-Smirnov, p = {alike:.1g}): what is promised need not hold"
        )
    return found.test, {
        "monitor": monitor.name,
        "considered": list(watched.considered),
        "changes": list(watched.changes),
        "bins": found.test.increments.shape[1],
        "alternatives": list(found.alternatives),
        "limit_nats": found.test.limit / UNIT,
        "run_length": run_length,
        "confidence": confidence,
        "rows": found.rows,
        "largest_group": None if groups is None else found.largest_group,
        "measured": measure_run_length(found.test, on_test, seed, test_groups)
        if len(on_test)
        else None,
        "test_rows": {"images": stream.images, "flagged_at": stream.flagged_at or None},
        "alike_p": alike,
    }


def _alike(
    held_out: Array, groups: Groups | None, test: Array, test_groups: Groups | None, seed: int
) -> float | None:
    """The p-value of "scores (n,) of threshold and test rows have one distribution", of groups one
    row each; None without rows."""
    a, b = (
        s if g is None else s[one_of_each(g, seed)]
        for s, g in ((held_out, groups), (test, test_groups))
    )
    return float(ks_2samp(a, b).pvalue) if len(a) and len(b) else None
