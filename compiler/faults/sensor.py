"""A camera or its connection that fails."""

from __future__ import annotations

import numpy as np

from edgemon.compiler.faults.image import Floats, Generator

LINES = (1 / 16, 1 / 8, 1 / 4, 1 / 2)  # share of the lines that are concerned, at least one
SHIFTS = (1, 2, 4, 8)  # pixels


def black(x: Floats, _: int, __: Generator) -> Floats:
    """No light."""
    return np.zeros_like(x)


def white(x: Floats, _: int, __: Generator) -> Floats:
    """Too much light."""
    return np.ones_like(x)


def grey(x: Floats, _: int, __: Generator) -> Floats:
    """Every value at half of full scale."""
    return np.full_like(x, 0.5)


def dead_rows(x: Floats, severity: int, rng: Generator) -> Floats:
    """Lines here and there are black."""
    found = x.copy()
    found[rng.permutation(len(x))[: _count(len(x), severity)]] = 0
    return found


def stuck_rows(x: Floats, severity: int, rng: Generator) -> Floats:
    """A block of lines repeats its first one."""
    count = _count(len(x), severity) + 1
    first = int(rng.integers(0, max(1, len(x) - count + 1)))
    found = x.copy()
    found[first : first + count] = x[first]
    return found


def stuck_columns(x: Floats, severity: int, rng: Generator) -> Floats:
    """A block of columns repeats its first one."""
    return stuck_rows(x.swapaxes(0, 1), severity, rng).swapaxes(0, 1)


def shifted_lines(x: Floats, severity: int, rng: Generator) -> Floats:
    """From a line in the upper half on, lines begin some pixels late; what leaves comes in on the
    other side."""
    first = int(rng.integers(0, max(1, len(x) // 2)))
    found = x.copy()
    found[first:] = np.roll(x[first:], SHIFTS[severity - 1], axis=1)
    return found


def byte_shift(x: Floats, _: int, __: Generator) -> Floats:
    """One byte too many at the beginning: channels rotate, and the last byte is lost to the first
    place."""
    return np.roll(x.ravel(), 1).reshape(x.shape)


def frozen(frame: Floats, _: int, __: Generator) -> Floats:
    """The frame that stays: it is given instead of the image (see ``registry``)."""
    return frame


def _count(lines: int, severity: int) -> int:
    return max(1, round(lines * LINES[severity - 1]))
