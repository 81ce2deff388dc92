"""What a monitor and its model cost here: bytes of the artifact, time on this machine.

Times are the smallest of many: what a busy machine adds to them is no property of a monitor.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon import targets
from edgemon.bench import latency
from edgemon.compiler.cost import timing
from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.models.model import CompanionFile, Model
from edgemon.compiler.program.ir import Program
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.terminal import quiet_interpreter
from edgemon.runtime.companions import opened
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
    inputs, kernels = _inputs(model, data, preprocess), _kernels(model)
    with quiet_interpreter():
        classifier = open_classifier(model.path, threads=1, kernels=kernels)
    return _least_us(classifier.invoke, inputs)


def companions(
    files: Sequence[CompanionFile], model: Model, data: Dataset, preprocess: Preprocess
) -> dict[str, Companion]:
    """Bytes and time of the companions of a model, by view."""
    inputs, kernels = _inputs(model, data, preprocess), _kernels(model)
    found = {}
    with quiet_interpreter():
        classifier = open_classifier(model.path, threads=1, kernels=kernels)
        classifier.invoke(inputs[0])
        beside = opened({f.view: f.content for f in files}, classifier, kernels=kernels)
    output = classifier.output(0)
    for file in files:
        us = _least_us(partial(beside[file.view].run, output=output), inputs)
        found[file.view] = Companion(file.info.size, us)
    return found


@dataclass(frozen=True)
class Companion:
    """What it takes, beside the program of a monitor that reads it."""

    bytes: int
    us: float


def share_of_model(
    program: Program, nanoseconds: float, beside: Mapping[str, Companion], model_us: float
) -> float:
    """Time of the first monitor with its further inferences and companions, of that of the
    model."""
    alone = program.only(program.monitors[0].name)
    us = nanoseconds / 1e3 + sum(beside[view].us for view in alone.companions)
    return alone.second_inference + us / model_us


def companion_json(program: Program, beside: Mapping[str, Companion]) -> dict[str, Any]:
    """Of the first monitor; nothing without companions."""
    found = [beside[v] for v in program.only(program.monitors[0].name).companions]
    if not found:
        return {}
    return {
        "companion_bytes": sum(c.bytes for c in found),
        "companion_us": sum(c.us for c in found),
    }


def _inputs(model: Model, data: Dataset, preprocess: Preprocess) -> list[npt.NDArray[Any]]:
    some = data.take(np.arange(min(ROWS, len(data))))
    return [to_input(row, preprocess, model.input) for block in some.blocks(ROWS) for row in block]


def _kernels(model: Model) -> str:
    return model.kernels(targets.load(targets.DEFAULT).kernels)


def _least_us(
    invoke: Callable[[npt.NDArray[Any]], None], inputs: Sequence[npt.NDArray[Any]]
) -> float:
    times = np.empty(ROUNDS)
    for i in range(-WARM_UP, ROUNDS):
        start = time.perf_counter_ns()
        invoke(inputs[i % len(inputs)])
        if i >= 0:
            times[i] = time.perf_counter_ns() - start
    return float(times.min()) / 1e3
