"""Which score the drift test watches: the one that would raise the flag soonest.

Reckoned on changed copies of those threshold rows that design the test. The scores of rows that
bound its false flags take no part but in alarm thresholds, which all threshold rows set, so that
the promise holds for whichever score is chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import measured as schema
from edgemon.compiler.program.ir import Program
from edgemon.compiler.promise.drift.choice import reckoned
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.evaluation import Evaluation, Verdict

Array = npt.NDArray[Any]

LOSS = 0.02  # of accuracy: a change that costs less need not be seen
GAIN = 0.9  # of the images that the first score takes: another must take fewer to be watched


@dataclass(frozen=True)
class Watched:
    """The index of the monitor that is watched, and what the others would have taken."""

    monitor: int
    considered: tuple[schema.DriftCandidate, ...] = ()
    changes: tuple[str, ...] = ()


def choose(
    program: Program, judges: int, first: int, design: Recording,
    accuracy: float, changed: Sequence[tuple[str, Recording]], *, run_length: int,
    confidence: float,
) -> Watched:  # fmt: skip
    """Among all monitors and signals of a program, of which the first ``judges`` have thresholds:
    the one that takes the fewest images (geometric mean over changes that cost accuracy), or the
    ``first``, if none takes clearly fewer.

    Args:
        design: threshold rows that design the test.
        accuracy: on those of them that were changed, as they were.
        changed: of each change its name, and changed copies of some of these rows.
    """
    changed = [c for c in changed if float(c[1].correct.mean()) <= accuracy - LOSS]
    if not changed:
        return Watched(first)
    clean = evaluate(program, design)
    found = [evaluate(program, rows) for _, rows in changed]
    considered: list[schema.DriftCandidate] = []
    for i, monitor in enumerate(program.monitors):
        alarm = monitor.alarm_above if i < judges else None
        test = reckoned(scores_of(clean, i)[0], alarm, run_length=run_length, confidence=confidence)
        images = None
        if test is not None:
            growth = [_growth(test.increments[:, test.bins(scores_of(f, i)[0])]) for f in found]
            images = [
                min(run_length, test.limit / g) if g > 0 else float(run_length) for g in growth
            ]
        considered.append({"monitor": monitor.name, "images": images})
    means = [mean_images(c) for c in considered]
    best = int(np.argmin(means))
    chosen = best if means[best] < GAIN * means[first] else first
    return Watched(chosen, tuple(considered), tuple(name for name, _ in changed))


def mean_images(candidate: schema.DriftCandidate) -> float:
    """The geometric mean over changes; infinite of a score without a test."""
    images = candidate["images"]
    return float("inf") if images is None else float(np.exp(np.mean(np.log(images))))


def sentence(drift: schema.Drift) -> str:
    """Why this score is watched, in words; empty where nothing was chosen."""
    means = {c["monitor"]: mean_images(c) for c in drift["considered"]}
    own = means.pop(drift["monitor"], None)
    if own is None or not means or not np.isfinite(own):
        return ""
    known = sorted((value, name) for name, value in means.items() if np.isfinite(value))
    without = [name for name, value in means.items() if not np.isfinite(value)]
    others = "".join(f", with {name} after {value:,.0f}" for value, name in known[:3])
    if without:
        others += f"; with so few threshold rows there is no test of {', '.join(without)}"
    return (
        f"it watches {drift['monitor']}: on changed copies of threshold rows "
        f"({', '.join(drift['changes'])}) the flag is reckoned to rise after {own:,.0f} images "
        f"(geometric mean){others}"
    )


def scores_of(found: Evaluation, monitor: int) -> tuple[Array, Array]:
    """The scores of a monitor that are no faults, and where all rows have faults (n,)."""
    faults = found.verdicts[:, monitor] == Verdict.FAULT
    return found.scores[monitor][~faults], faults


def _growth(increments: Array) -> float:
    """What an image adds on average to the sum that grows fastest; (K, n) increments."""
    return float(increments.mean(axis=1).max()) if increments.shape[1] else 0.0
