"""Latency of the model alone, with monitors, and in a session, one image at a time.

All pipelines run in one process, interleaved in alternating order, on the same inputs in turn;
taps of other views cost the monitored ones further inferences, and those of companions. Rounds come
in blocks (``bench.blocks``), and more of them until the overhead's interval is narrow or time is
up. Each block opens all pipelines anew, elsewhere in memory (``bench.placement``).
"""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench import blocks
from edgemon.bench.errors import BenchError
from edgemon.bench.placement import Placement
from edgemon.compiler.reporter import Progress, unseen
from edgemon.runtime.classifier import Classifier
from edgemon.runtime.monitor import Monitor
from edgemon.runtime.preprocess import INPUT
from edgemon.runtime.session import Session
from edgemon.runtime.taps import TapReader
from edgemon.runtime.views import SECOND

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

BLOCK = 100  # rounds in a block, at most: more rounds are more blocks
WARM_UP = 10  # images through each pipeline of a block, before it is timed
NAMES = ("model_us", "with_monitors_us", "bare_us", "session_us")
ALONE, TOGETHER, BARE, SESSION = range(len(NAMES))


@dataclass(frozen=True, eq=False)
class Timed:
    """Microseconds an image, of the pipelines ``NAMES``."""

    times: Floats  # (pipelines, rounds)
    minima: Floats  # (pipelines, blocks)

    @property
    def overhead(self) -> blocks.Estimate:
        """Model and monitors to the model alone: ratios of minima of the same blocks."""
        return self.to_model(self.minima[TOGETHER])

    def to_model(self, of: Floats) -> blocks.Estimate:
        """Of microseconds (blocks,) to those of the model alone in the same blocks."""
        return blocks.ratio(of, self.minima[ALONE])


@dataclass(frozen=True)
class Contestants:
    """What is timed.

    Attributes:
        plain: the model without taps. tapped: with them.
        positions: the output that carries each tap of ``monitor``, or ``INPUT``.
        reader: of ``tapped``; it knows the views for which the monitored pipeline makes further
            inferences.
    """

    plain: Classifier
    tapped: Classifier
    monitor: Monitor
    positions: Sequence[int]
    session: Session
    reader: TapReader


def interleaved(
    opened: Callable[[], Contestants],
    images: Sequence[Array],
    inputs: Sequence[Array],
    rounds: int,
    max_seconds: float = 0.0,
    before: Callable[[], None] = lambda: None,
    progress: Progress = unseen,
) -> Timed:
    """Time ``rounds`` images through each pipeline, or what fills the last block, and on in
    blocks, until the interval of the overhead is narrow, for at most ``max_seconds`` in all.

    Args:
        opened: what is timed, fresh. before: is called before each block, for what else is to be
            measured in the same while.
        images: as a camera gives them, for the session.
        inputs: of the same, as ``preprocess.to_input`` makes them, for the others.
    """
    size = min(BLOCK, max(1, rounds // blocks.BLOCKS))
    end = time.monotonic() + max_seconds
    placement = Placement()
    times: list[Floats] = []
    done = 0
    while True:
        for _ in range(blocks.BLOCKS // 2 if times else -(-rounds // size)):
            before()
            placement.move()
            times.append(_block(opened(), images, inputs, range(done, done + size)))
            done += size
            progress(min(done, rounds), rounds)
        whole = np.concatenate(times, axis=1)
        found = Timed(whole, blocks.minima(whole, size))
        if found.overhead.trusted or time.monotonic() >= end:
            return found


def _block(
    of: Contestants, images: Sequence[Array], inputs: Sequence[Array], rounds: range
) -> Floats:
    """Microseconds (pipelines, rounds)."""
    sources = [of.reader.source(i) for i in range(len(of.positions))]
    of.reader.read(inputs[0])
    memory = [_in_place(*source) for source in sources]
    # A device reads the input where it lies; here it lies elsewhere for every image.
    for i, (_, p) in enumerate(sources):
        if p == INPUT:
            memory[i] = type(memory[i])()
    pipelines = _pipelines(of, memory)
    for i in range(WARM_UP):
        for run in pipelines:
            run(images[i % len(images)], inputs[i % len(inputs)])
    times = _rounds(pipelines, images, inputs, rounds)
    for (classifier, p), tap in zip(sources, memory, strict=True):
        if bytes(tap) != classifier.output(p).tobytes():
            raise BenchError("the interpreter moved its outputs while it was timed; run it again")
    return times


Pipeline = Callable[[Array, Array], object]


def _rounds(
    pipelines: Sequence[Pipeline],
    images: Sequence[Array],
    inputs: Sequence[Array],
    rounds: range,
) -> Floats:
    times = np.empty((len(pipelines), len(rounds)))
    order = range(len(pipelines))
    gc.disable()
    try:
        for i, number in enumerate(rounds):
            image, x = images[number % len(images)], inputs[number % len(inputs)]
            for which in order if number % 2 else reversed(order):
                run = pipelines[which]
                start = time.perf_counter_ns()
                run(image, x)
                times[which, i] = time.perf_counter_ns() - start
    finally:
        gc.enable()
    return times / 1e3


def _pipelines(of: Contestants, memory: list[Any]) -> tuple[Pipeline, ...]:
    """In the order of ``NAMES``; ``memory``: where the taps lie."""
    plain, tapped, session = of.plain, of.tapped, of.session
    count = len(of.monitor.monitors)
    results = (
        np.empty(1, np.uint8), np.empty(1, np.int32), np.empty(1, np.int32),
        np.empty(count, np.uint8), np.empty(count, np.int64),
    )  # fmt: skip
    evaluate = of.monitor.evaluate_into
    entries = [i for i, p in enumerate(of.positions) if p == INPUT]
    views, reader = [tap.view for tap in of.monitor.taps], of.reader
    taps = [type(m)() if view in SECOND else m for m, view in zip(memory, views, strict=True)]
    copies = {
        wanted: [
            (taps[i], memory[i], ctypes.sizeof(memory[i]))
            for i, view in enumerate(views) if view == wanted
        ]
        for wanted in reader.second
    }  # fmt: skip

    def alone(_: Array, x: Array) -> None:
        plain.invoke(x)

    def bare(_: Array, x: Array) -> None:
        plain.invoke(x)
        answer().argmax()

    def invoked(x: Array) -> None:
        tapped.invoke(x)
        for i in entries:
            ctypes.memmove(memory[i], x.ctypes.data, ctypes.sizeof(memory[i]))

    def together(_: Array, x: Array) -> None:
        invoked(x)
        evaluate(taps, 1, *results)

    def more(_: Array, x: Array) -> None:
        for view, wanted in copies.items():
            invoked(reader.seen(view, x))
            for copy, source, size in wanted:
                ctypes.memmove(copy, source, size)
        invoked(x)
        if reader.companion is not None:
            reader.companion.run(x, output())
        evaluate(taps, 1, *results)

    def from_image(image: Array, _: Array) -> None:
        session.evaluate(image)

    answer, output = plain.reader(0), tapped.reader(0)
    further = copies or reader.companion is not None
    return alone, more if further else together, bare, from_image


def _in_place(classifier: Classifier, position: int) -> Any:
    """The output's memory as a C pipeline sees it, after an invocation: found once, then read after
    every one without a call into the interpreter."""
    view = classifier.view(position)
    element = np.ctypeslib.as_ctypes_type(view.dtype)
    return (element * view.size).from_address(view.ctypes.data)
