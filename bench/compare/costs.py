"""What a monitor and its model cost here: bytes of the artifact, time on this machine.

Times are the smallest of many: what a busy machine adds to them is no property of a monitor.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from edgemon import targets
from edgemon.bench import latency
from edgemon.compiler.cost import timing
from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.models.model import Model
from edgemon.compiler.program.ir import Program
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.terminal import quiet_interpreter
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import Preprocess, to_input

ROWS = 64
ROUNDS, WARM_UP = 200, 20


def size_bytes(program: Program) -> int:
    """Bytes of the first monitor, with everything that it needs."""
    return Bill(program, None).together([0]).size_bytes


def nanoseconds(
    programs: Sequence[Program], rows: Recording, progress: Progress = unseen
) -> list[float]:
    """Time of one evaluation of each program's first monitor in C."""
    alone = [p.only(p.monitors[0].name) for p in programs]
    some = np.arange(min(ROWS, len(rows)))
    taps = [[np.asarray(rows.codes(t.name, some)) for t in p.taps] for p in alone]
    return [float(v) for v in latency.fastest(alone, taps, ROUNDS, progress)]


def estimated_ns(program: Program) -> float | None:
    """The same as estimated for the default target; None if its profile has no times."""
    known = times()
    if known is None:
        return None
    return timing.nanoseconds(program.only(program.monitors[0].name), known)


def times() -> targets.OpTimes | None:
    """Times of the default target's ops."""
    return targets.load(targets.DEFAULT).times


def model_us(model: Model, data: Dataset, preprocess: Preprocess) -> float:
    """Microseconds of one inference of the model without taps, on one thread."""
    some = data.take(np.arange(min(ROWS, len(data))))
    inputs = [
        to_input(row, preprocess, model.input) for block in some.blocks(ROWS) for row in block
    ]
    kernels = model.kernels(targets.load(targets.DEFAULT).kernels)
    with quiet_interpreter():
        classifier = open_classifier(model.path, threads=1, kernels=kernels)
    times = np.empty(ROUNDS)
    for i in range(-WARM_UP, ROUNDS):
        start = time.perf_counter_ns()
        classifier.invoke(inputs[i % len(inputs)])
        if i >= 0:
            times[i] = time.perf_counter_ns() - start
    return float(times.min()) / 1e3
