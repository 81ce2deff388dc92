"""Times and their quantiles, and the times of monitors alone in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Program
from edgemon.compiler.reporter import Progress, unseen
from edgemon.runtime.monitor import Monitor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

ROUNDS = 20
BATCHES = 10  # one after another, of each round
NO_MODEL = "00" * 32  # an artifact that is only timed belongs to no model


@dataclass(frozen=True)
class Distribution:
    """Quantiles of times, in the caller's unit."""

    min: float
    p50: float
    p90: float
    p99: float
    max: float

    @classmethod
    def of(cls, values: Sequence[float] | Array) -> Distribution:
        p50, p90, p99 = (float(v) for v in np.percentile(values, [50, 90, 99]))
        return cls(float(np.min(values)), p50, p90, p99, float(np.max(values)))

    def to_json(self) -> dict[str, float]:
        return asdict(self)


def in_c(program: Program, taps: Sequence[Array]) -> dict[str, Floats]:
    """Nanoseconds of one evaluation in C on rows of taps, per monitor alone and for ``all``:
    (rounds, ``BATCHES``), means over all rows of one pass.

    Rounds go through all of them in turn, so that a busy while does not meet one alone.
    """
    programs = {m.name: program.only(m.name) for m in program.monitors}
    programs["all"] = program
    timed = {
        name: (_monitor(p), [taps[program.taps.index(t)] for t in p.taps])
        for name, p in programs.items()
    }
    found: dict[str, list[list[float]]] = {name: [] for name in timed}
    for _ in range(ROUNDS):
        for name, (monitor, rows) in timed.items():
            found[name].append(monitor.nanoseconds(rows, BATCHES))
    return {name: np.array(samples) for name, samples in found.items()}


def _monitor(program: Program) -> Monitor:
    return Monitor(flat.write(flat.Artifact(program, NO_MODEL, {})))


def fastest(
    programs: Sequence[Program],
    taps: Sequence[Sequence[Array]],
    rounds: int,
    progress: Progress = unseen,
) -> npt.NDArray[np.float64]:
    """Nanoseconds of one evaluation of each program in C on its rows of taps: the smallest of
    batches. Rounds go through all programs in turn, so that a while in which the machine is busy
    meets all of them, and decides for none."""
    monitors = [_monitor(p) for p in programs]
    best = np.full(len(programs), np.inf)
    for done in range(rounds):
        for i, (monitor, rows) in enumerate(zip(monitors, taps, strict=True)):
            best[i] = min(best[i], *monitor.nanoseconds(rows, BATCHES))
        progress(done + 1, rounds)
    return best
