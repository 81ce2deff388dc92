"""Rows that sit on the edges of a program: below, at and above every threshold it holds.

Parity on ordinary rows says little about rounding, because ordinary rows hardly ever hit a
threshold. These rows do, on purpose: for each node of a tree a row that reaches it with its
feature just below, at and just above the threshold; for each side of each box the same, with the
class that owns the box predicted; rows around each decision threshold; and the extreme and the
impossible values of every tap.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program import reference
from edgemon.compiler.program.grids import beside
from edgemon.compiler.program.ir import Node, Program
from edgemon.compiler.program.ops import OPS

Array = npt.NDArray[Any]
TapRows = list[Array]  # one (n, length) array a tap

NEAREST = 4  # rows kept on either side of a decision threshold
MOST_MOVED = 512  # elements of a tap that are moved one by one: of a feature map not all
LARGEST_BLOCK, BLOCK_ELEMENTS = 2048, 1 << 22  # rows, and elements of all taps, in memory at a time


def neighbours(program: Program, base: TapRows) -> Iterator[TapRows]:
    """Blocks of rows; ``base`` holds at least one ordinary row to start from."""
    for node in program.nodes:
        # A threshold on a computed value cannot be met by choosing inputs; rows around the
        # decisions, below, come as near to it as the data does.
        if node.inputs[0] < len(program.taps):
            yield from OPS[node.op].edges(Around(program, node, base))
    yield from _around_decisions(program, base)
    yield from _extremes(program, base)


def gathered(blocks: Iterable[TapRows], base: TapRows) -> Iterator[TapRows]:
    """The same rows in the same order, in blocks as large as one may be beside these base rows:
    what an evaluation costs beside its rows is paid once for many."""
    most, kept, count = _block(base), list[TapRows](), 0
    for rows in blocks:
        if kept and count + len(rows[0]) > most:
            yield _joined(kept)
            kept, count = [], 0
        kept.append(rows)
        count += len(rows[0])
    if kept:
        yield _joined(kept)


def finite(rows: TapRows) -> npt.NDArray[np.bool_]:
    """(n,): of which rows no tap has a NaN or an infinity?"""
    found = np.ones(len(rows[0]), bool)
    for x in rows:
        found &= np.isfinite(x).all(axis=1)
    return found


def _joined(blocks: list[TapRows]) -> TapRows:
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


class Around:
    """A node that reads a tap, and how rows for it are made: they differ from the base in that
    tap."""

    def __init__(self, program: Program, node: Node, base: TapRows) -> None:
        self.program, self.node, self.base = program, node, base
        self.tap = node.inputs[0]
        self.dtype = np.dtype(program.taps[self.tap].dtype)
        self.length = program.taps[self.tap].length
        self.row: Array = base[self.tap][0]  # (length,) an ordinary one
        self.moved = _moved(self.length)
        self.block = _block(base)

    def varied(self, values: dict[int, list[Any]]) -> Iterator[TapRows]:
        """The ordinary row with each of the values at its element, one at a time."""
        return _varied(self.base, self.tap, values)

    def replaced(self, x: Array, c: int | None = None) -> Iterator[TapRows]:
        """The tap's rows x (n, length); where a tap gives the class node, class c is chosen."""
        if c is None:
            yield from _replaced(self.base, self.tap, x)
            return
        first = len(self.program.taps)
        chooser = self.program.nodes[self.node.inputs[1] - first]
        scores = chooser.inputs[0]
        for rows in _replaced(self.base, self.tap, x):
            if scores < first and scores != self.tap:
                rows[scores] = OPS[chooser.op].choosing(chooser, c, rows[scores])
            yield rows


def _repeat(base: TapRows, n: int) -> TapRows:
    """n rows, cycling through the base rows."""
    return [x[np.arange(n) % len(x)].copy() for x in base]


def _block(base: TapRows) -> int:
    """Rows in memory at a time."""
    width = sum(int(x.shape[1]) for x in base)
    return max(1, min(LARGEST_BLOCK, BLOCK_ELEMENTS // width))


def _varied(base: TapRows, tap: int, values: dict[int, list[Any]]) -> Iterator[TapRows]:
    """The tap's first row with each of the values at its element, one at a time."""
    pairs = [(d, value) for d, at_element in values.items() for value in at_element]
    step = _block(base)
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        x = np.repeat(base[tap][:1], len(part), axis=0)
        x[np.arange(len(part)), [d for d, _ in part]] = [value for _, value in part]
        yield from _replaced(base, tap, x)


def _replaced(base: TapRows, tap: int, x: Array) -> Iterator[TapRows]:
    step = _block(base)
    for start in range(0, len(x), step):
        part = x[start : start + step]
        rows = _repeat(base, len(part))
        rows[tap] = part
        yield rows


def _around_decisions(program: Program, base: TapRows) -> Iterator[TapRows]:
    """The rows whose scores lie nearest to each threshold, and those with each element of their
    taps moved by one step. Each tap of a row is moved once, to however many thresholds the row is
    near: all monitors are evaluated on what comes of it."""
    values, _ = reference.run_device(program, base)
    moved = set[tuple[int, int]]()
    for monitor in program.monitors:
        used = [i for i, t in enumerate(program.taps) if t in program.only(monitor.name).taps]
        score = values[monitor.score][:, 0]
        for threshold in {monitor.alarm_above, monitor.uncertain_above}:
            for side in (score < threshold, score == threshold, score > threshold):
                rows = np.flatnonzero(side)
                distance = np.abs(score[rows].astype(np.float64) - threshold)
                for row in rows[np.argsort(distance, kind="stable")[:NEAREST]].tolist():
                    new = [tap for tap in used if (row, tap) not in moved]
                    moved.update((row, tap) for tap in new)
                    yield from _steps([x[row : row + 1] for x in base], new)


def _steps(row: TapRows, taps: list[int]) -> Iterator[TapRows]:
    """Of each tap the row itself, and the row with each element moved."""
    for tap in taps:
        x = row[tap][0]
        steps = {d: [v for v in beside(x[d], x.dtype) if v != x[d]] for d in _moved(x.size)}
        steps[0].insert(0, x[0])
        yield from _varied(row, tap, steps)


def _moved(length: int) -> list[int]:
    """The elements of a tap that are moved one by one, evenly spread."""
    elements = np.unique(np.linspace(0, length - 1, min(length, MOST_MOVED)).astype(int))
    return [int(d) for d in elements]


def _extremes(program: Program, base: TapRows) -> Iterator[TapRows]:
    for index, tap in enumerate(program.taps):
        dtype = np.dtype(tap.dtype)
        if dtype.kind == "f":
            info = np.finfo(dtype)
            values = [0.0, -0.0, np.nan, np.inf, -np.inf, info.max, info.min]
            values += [info.smallest_subnormal, -info.smallest_subnormal]
        else:
            values = [np.iinfo(dtype).min, np.iinfo(dtype).max]
        yield from _varied(base, index, dict.fromkeys(_moved(tap.length), values))
        every = np.repeat(np.array(values, dtype)[:, None], tap.length, axis=1)
        yield from _replaced(base, index, every)
