"""Where the time of a compile goes: ``compile --timings``.

Pieces of work are nested, as the fit of a monitor lies in the stage of fitting. Outside of
``recorded`` nothing is measured.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from edgemon.compiler.documents.manifest import Timing

REST = "everything else"


@dataclass
class Timings:
    """Pieces in the order in which they began."""

    pieces: list[Timing] = field(default_factory=list)
    level: int = 0


_current: ContextVar[Timings | None] = ContextVar("timings", default=None)


@contextmanager
def recorded(wanted: bool = True) -> Iterator[Timings]:
    """Measures what is ``timed`` in it, unless it is not wanted; the last piece is what no piece of
    the first level holds."""
    found = Timings()
    if not wanted:
        yield found
        return
    token = _current.set(found)
    start = _now()
    try:
        yield found
    finally:
        _current.reset(token)
        first = [p for p in found.pieces if p["level"] == 0]
        wall, cpu = (a - b for a, b in zip(_now(), start, strict=True))
        found.pieces.append(
            _piece(
                REST, 0, wall - sum(p["seconds"] for p in first),
                cpu - sum(p["cpu_seconds"] for p in first),
            )
        )  # fmt: skip


@contextmanager
def timed(name: str) -> Iterator[None]:
    """A piece of work, if anybody measures."""
    timings = _current.get()
    if timings is None:
        yield
        return
    at, level = len(timings.pieces), timings.level
    timings.pieces.append(_piece(name, level, 0.0, 0.0))
    timings.level += 1
    start = _now()
    try:
        yield
    finally:
        timings.level = level
        wall, cpu = (a - b for a, b in zip(_now(), start, strict=True))
        timings.pieces[at] = _piece(name, level, wall, cpu)


def _now() -> tuple[float, float]:
    """Seconds on the wall, and of the CPU in this process and in children that have ended."""
    used = os.times()
    return time.perf_counter(), used.user + used.system + used.children_user + used.children_system


def _piece(name: str, level: int, wall: float, cpu: float) -> Timing:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024  # Linux counts in KiB
    return {
        "stage": name, "level": level, "seconds": max(0.0, wall), "cpu_seconds": max(0.0, cpu),
        "peak_memory_bytes": peak,
    }  # fmt: skip
