"""Latency of the model alone against model + monitors, and of each monitor alone in C.

Both pipelines run in one process, one image at a time, interleaved in alternating order, on the
same inputs; taps of the mirrored image cost the monitored one a second inference. The overhead is
the ratio of their minima: on a busy machine it repeats to a thousandth, where ratios of medians do
not.
"""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Program
from edgemon.compiler.reporter import Progress, unseen
from edgemon.runtime.classifier import Classifier
from edgemon.runtime.mirror import MIRROR, mirrored
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.preprocess import INPUT

Array = npt.NDArray[Any]

WARM_UP = 50
C_REPEATS = 200
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


@dataclass(frozen=True)
class Pair:
    """Microseconds an image."""

    model_us: Distribution
    with_monitors_us: Distribution

    @property
    def overhead_ratio(self) -> float:
        """Ratio of the minima."""
        return self.with_monitors_us.min / self.model_us.min


def interleaved(
    plain: Classifier,
    tapped: Classifier,
    monitor: Monitor,
    positions: Sequence[int],
    inputs: Sequence[Array],
    rounds: int,
    progress: Progress = unseen,
    *,
    mirror_axis: int = 0,
) -> Pair:
    """Time ``rounds`` images through both pipelines.

    Args:
        plain: the model without taps. tapped: with them. positions: the output that carries each
            tap of ``monitor``, or ``INPUT``. inputs: as ``preprocess.to_input`` makes them.
        mirror_axis: see ``runtime.mirror.width_axis``; 0 without taps of the mirrored image, for
            which the monitored pipeline makes a second inference.
    """
    count = len(monitor.monitors)
    results = (
        np.empty(1, np.uint8), np.empty(1, np.int32), np.empty(1, np.int32),
        np.empty(count, np.uint8), np.empty(count, np.int64),
    )  # fmt: skip
    evaluate = monitor.evaluate_into
    memory = [_in_place(tapped, p, inputs[0]) for p in positions]
    # A device reads the input where it lies; here it lies elsewhere for every image.
    entries = [i for i, p in enumerate(positions) if p == INPUT]
    for i in entries:
        memory[i] = type(memory[i])()
    second = [i for i, tap in enumerate(monitor.taps) if tap.view == MIRROR]
    taps = [type(m)() if i in second else m for i, m in enumerate(memory)]
    copies = [(taps[i], memory[i], ctypes.sizeof(memory[i])) for i in second]

    def alone(x: Array) -> None:
        plain.invoke(x)

    def together(x: Array) -> None:
        tapped.invoke(x)
        for i in entries:
            ctypes.memmove(memory[i], x.ctypes.data, ctypes.sizeof(memory[i]))
        evaluate(taps, 1, *results)

    def twice(x: Array) -> None:
        other = mirrored(x, mirror_axis)
        tapped.invoke(other)
        for i in entries:
            ctypes.memmove(memory[i], other.ctypes.data, ctypes.sizeof(memory[i]))
        for copy, source, size in copies:
            ctypes.memmove(copy, source, size)
        together(x)

    pipelines = (alone, twice if second else together)
    times = np.empty((2, rounds))
    for i in range(WARM_UP):
        for run in pipelines:
            run(inputs[i % len(inputs)])
    gc.disable()
    try:
        for i in range(rounds):
            x = inputs[i % len(inputs)]
            for which in (0, 1) if i % 2 else (1, 0):
                run = pipelines[which]
                start = time.perf_counter_ns()
                run(x)
                times[which, i] = time.perf_counter_ns() - start
            if i % 64 == 0:
                progress(i, rounds)
    finally:
        gc.enable()
    for p, tap in zip(positions, memory, strict=True):
        if bytes(tap) != tapped.output(p).tobytes():
            raise BenchError("the interpreter moved its outputs while it was timed; run it again")
    return Pair(*(Distribution.of(row / 1e3) for row in times))


def _in_place(classifier: Classifier, position: int, x: Array) -> Any:
    """The output's memory as a C pipeline sees it: found once, then read after every invocation
    without a call into the interpreter."""
    classifier.invoke(x)
    view = classifier.view(position)
    element = np.ctypeslib.as_ctypes_type(view.dtype)
    return (element * view.size).from_address(view.ctypes.data)


def in_c(program: Program, taps: Sequence[Array]) -> dict[str, Distribution]:
    """Nanoseconds of one evaluation in C on rows of taps, per monitor alone and for ``all``.

    One sample is the mean over all rows of one pass, so the spread is that of the machine.
    """
    found = {}
    for name in [m.name for m in program.monitors]:
        alone = program.only(name)
        found[name] = _time(alone, [taps[program.taps.index(t)] for t in alone.taps])
    found["all"] = _time(program, taps)
    return found


def _time(program: Program, taps: Sequence[Array]) -> Distribution:
    monitor = Monitor(flat.write(flat.Artifact(program, NO_MODEL, {})))
    return Distribution.of(monitor.nanoseconds(taps, C_REPEATS))


def fastest(
    programs: Sequence[Program],
    taps: Sequence[Sequence[Array]],
    rounds: int,
    progress: Progress = unseen,
) -> npt.NDArray[np.float64]:
    """Nanoseconds of one evaluation of each program in C on its rows of taps: the smallest of
    batches. Rounds go through all programs in turn, so that a while in which the machine is busy
    meets all of them, and decides for none."""
    monitors = [Monitor(flat.write(flat.Artifact(p, NO_MODEL, {}))) for p in programs]
    best = np.full(len(programs), np.inf)
    for done in range(rounds):
        for i, (monitor, rows) in enumerate(zip(monitors, taps, strict=True)):
            best[i] = min(best[i], *monitor.nanoseconds(rows, BATCHES))
        progress(done + 1, rounds)
    return best
