"""Times and their quantiles, and the times of monitors alone in C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.placement import Placement
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Program
from edgemon.compiler.reporter import Progress, unseen
from edgemon.runtime.monitor import Monitor

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

ROUNDS = 20  # at least
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


class InC:
    """Nanoseconds of one evaluation in C on rows of taps, per monitor alone and for ``all``.

    A round goes through all of them in turn, so that a busy while does not meet one alone, and
    each round has them elsewhere in memory (``bench.placement``).
    """

    def __init__(self, program: Program, taps: Sequence[Array]) -> None:
        programs = {m.name: program.only(m.name) for m in program.monitors} | {"all": program}
        self._timed = {
            name: (_artifact(p), [taps[program.taps.index(t)] for t in p.taps])
            for name, p in programs.items()
        }
        self._found: dict[str, list[list[float]]] = {name: [] for name in self._timed}
        self._placement = Placement()

    def round(self) -> None:
        """Times ``BATCHES`` passes over all rows, of each."""
        for name, (artifact, rows) in self._timed.items():
            self._placement.move()
            monitor, placed = Monitor(artifact), [self._placement.copy(t) for t in rows]
            self._found[name].append(monitor.nanoseconds(placed, BATCHES))

    def samples(self) -> dict[str, Floats]:
        """Of all rounds, ``ROUNDS`` at least: (rounds, ``BATCHES``), means over the rows."""
        while any(len(rounds) < ROUNDS for rounds in self._found.values()):
            self.round()
        return {name: np.array(rounds) for name, rounds in self._found.items()}


def _artifact(program: Program) -> bytes:
    return flat.write(flat.Artifact(program, NO_MODEL, {}))


def _monitor(program: Program) -> Monitor:
    return Monitor(_artifact(program))


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
