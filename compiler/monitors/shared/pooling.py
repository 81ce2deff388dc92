"""Wide features made narrower without a table: means of elements that lie evenly apart.

Of a feature map that was flattened with its channels last these are means over positions, of fewer
and fewer channels and columns; of any other vector a fixed projection.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.shared.vectors import (
    SHORT_WEIGHTS,
    bytes_of_weight,
    joined,
    joined_values,
)
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import BLOCK_ELEMENTS, Recording

Floats = npt.NDArray[np.float64]

LIMITS = (1.0, float(1 << 20))  # of the setting ``pool``
FEWEST = 16  # means, with which a monitor still sees something
NARROW = 64  # means, which are pooled no further while there is something else to give up


def pooled_values(recording: Recording, taps: Sequence[str], pool: int) -> Floats:
    """(n, width / pool): the features of all taps, ``pool`` of them averaged into one; same as
    ``pooled``. Raises CompileError unless ``pool`` divides the width."""
    if pool == 1:
        return joined_values(recording, taps)
    width = recording.width(taps)
    if width % pool:
        raise CompileError(f"pool={pool} does not divide the {width} features; choose a divisor")
    found = np.empty((len(recording), width // pool))
    step = max(1, BLOCK_ELEMENTS // width)  # all at once would take far more than what is kept
    for start in range(0, len(found), step):
        rows = np.arange(start, min(start + step, len(found)))
        x = joined_values(recording.take(rows), taps)
        found[rows] = x.reshape(len(x), pool, -1).mean(axis=1)
    return found


def pooled(builder: Builder, taps: Sequence[str], pool: int) -> int:
    """Value id of the same."""
    x = joined(builder, taps)
    if pool == 1:
        return x
    width = builder.value(x).length // pool
    return builder.node("reduce", x, tables=[np.array([width], np.uint32)])


def next_pool(width: int, pool: int, weight: Callable[[int], int] = lambda _: 1) -> int | None:
    """The next larger number that divides ``width`` and whose means take fewer bytes, ``weight`` of
    the pool each; None if fewer than ``FEWEST`` means would be left."""
    now = width // pool * weight(pool)
    larger = (p for p in range(pool + 1, width // FEWEST + 1) if width % p == 0)
    return next((p for p in larger if width // p * weight(p) < now), None)


def said(pool: int) -> str:
    return f", of means of {pool} features each" if pool > 1 else ""


def weight_bytes(recording: Recording, taps: Sequence[str], pool: int = 1) -> int:
    """Bytes of a weight of these features, at least."""
    given = map(recording.tap, taps)
    return min(bytes_of_weight(tap, pool * tap.length // tap.width) for tap in given)


def are_whole(recording: Recording, taps: Sequence[str], pool: int = 1) -> bool:
    """Are these features whole numbers, which are weighed as they are? Several layers side by side
    have several scales."""
    return len(taps) == 1 and weight_bytes(recording, taps, pool) == SHORT_WEIGHTS
