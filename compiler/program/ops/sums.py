"""The sum of floats in a fixed order (FORMAT.md section 7.1), on which many ops rest."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgemon.compiler.program.grids import Array
from edgemon.compiler.program.ops.op import Parts

BLOCK_ELEMENTS = 1 << 22  # bounds the memory of the reference
SUM_LANES, SHORT_SUM = 8, 64  # of float sums (em_sums.h)
SUM_TAIL = 4  # terms behind whole lanes that compilers take at a time


def halving_sum(x: Array) -> Array:
    """(rows, n) to (rows, 1)."""
    n = x.shape[1]
    half = 1 << (n - 1).bit_length() >> 1
    if n > 1:  # zeros fill up to twice the half, and -0 + 0 is +0
        below, above = x[:, :half], x[:, half:]
        x = np.concatenate([below[:, : n - half] + above, below[:, n - half :] + 0], axis=1)
    while x.shape[1] > 1:
        half = x.shape[1] // 2
        x = x[:, :half] + x[:, half:]
    return x


def rowwise(x: Array, terms: Callable[[Array], Array]) -> Array:
    """Halving sums over the last axis of ``terms(rows)`` (rows, k, n), some rows at a time."""
    one = terms(x[:1]) if len(x) else terms(np.zeros((1, x.shape[1]), x.dtype))
    step = max(1, BLOCK_ELEMENTS // max(1, one.size))
    parts: list[Array] = [np.empty((0, one.shape[1]), x.dtype)]
    for start in range(0, len(x), step):
        block = terms(x[start : start + step])
        parts.append(halving_sum(block.reshape(-1, block.shape[2])).reshape(block.shape[:2]))
    result: Array = np.concatenate(parts)
    return result


def squared_distances(x: Array, centres: Array) -> Array:
    """(rows, centres)."""
    return rowwise(x, lambda rows: np.square(np.subtract(rows[:, None, :], centres)))


def float_sums(kind: str, sums: int, terms: int) -> Parts:
    """The parts of sums of floats, which fill up to a power of two."""
    padded = SUM_LANES
    while padded < terms:
        padded *= 2
    found = {"sum": sums, kind: sums * padded}
    if terms > SHORT_SUM:
        found["long_sum"] = sums * padded
    elif terms > SUM_LANES and terms % SUM_TAIL:
        found["ragged"] = sums
    return found
