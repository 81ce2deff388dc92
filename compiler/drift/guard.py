"""The drift test of a fitted program, and what its manifest says of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.drift.detector import UNIT, DriftReference, DriftTest
from edgemon.compiler.drift.fitting import FEWEST_ROWS, fit_drift, measure_run_length
from edgemon.compiler.evaluation import evaluate
from edgemon.compiler.fitting import Fitted
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.evaluation import Evaluation, Verdict

Array = npt.NDArray[Any]


def guard(
    fitted: Fitted, run_length: int, confidence: float, seed: int, reporter: Reporter
) -> tuple[DriftTest | None, dict[str, Any] | None]:
    """Fit the test on the scores of the threshold rows, and measure it on those of the test rows.
    It watches the first monitor whose threshold is promised, else the first; None, None for a run
    length of 0, or with a warning where the rows are too few."""
    if run_length == 0:
        return None, None
    watched = fitted.calibrated.index(True) if any(fitted.calibrated) else 0
    monitor = fitted.program.monitors[watched]
    scores, _ = _scores(evaluate(fitted.program, fitted.threshold_rows), watched)
    found = fit_drift(
        scores, monitor.alarm_above, watched,
        run_length=run_length, confidence=confidence, seed=seed,
    )  # fmt: skip
    if found is None:
        if len(scores) < FEWEST_ROWS:
            why, remedy = "are too few", "more rows (--calibrate)"
        else:
            why = f"with the few scores of {monitor.name} are no base"
            remedy = "a monitor with finer scores first (--monitor)"
        reporter.warn(
            f"{len(scores)} threshold rows {why} for a drift test, the bundle has none: give "
            f"{remedy}, or none is wanted with --drift-run-length 0"
        )
        return None, None
    if fitted.threshold_rows.groups is not None:
        reporter.warn(
            "the drift test takes images as independent, and rows of a group are not: its promised "
            "run length does not hold for them; feed it one image of each group"
        )
    on_test, faults = _scores(fitted.on_test, watched)
    stream = DriftReference(found.test)
    order = np.random.default_rng(seed).permutation(len(faults))  # files are often sorted by class
    stream.update(fitted.on_test.scores[watched][order], faults[order])
    if stream.flagged_at:
        reporter.warn(
            f"the drift flag rises on the test rows, after {stream.flagged_at:,} of them in random "
            "order: test and threshold rows are not alike, and what is promised need not hold"
        )
    return found.test, {
        "monitor": monitor.name,
        "bins": found.test.increments.shape[1],
        "alternatives": list(found.alternatives),
        "limit_nats": found.test.limit / UNIT,
        "run_length": run_length,
        "confidence": confidence,
        "rows": found.rows,
        "measured": measure_run_length(found.test, on_test, seed) if len(on_test) else None,
        "test_rows": {"images": stream.images, "flagged_at": stream.flagged_at or None},
    }


def _scores(found: Evaluation, watched: int) -> tuple[Array, Array]:
    """The scores of a monitor that are no faults, and where all rows have faults (n,)."""
    faults = found.verdicts[:, watched] == Verdict.FAULT
    return found.scores[watched][~faults], faults
