"""Rows that sit on the edges of a program: below, at and above every threshold it holds.

Parity on ordinary rows says little about rounding, because ordinary rows hardly ever hit a
threshold. These rows do, on purpose: for each node of a tree a row that reaches it with its
feature just below, at and just above the threshold; for each side of each box the same, with the
class that owns the box predicted; rows around each decision threshold; and the extreme and the
impossible values of every tap.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program import reference
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Node, Program

Array = npt.NDArray[Any]
Rows = list[Array]  # one (n, length) array a tap

NEAREST = 4  # rows kept on either side of a decision threshold
MOST_MOVED = 512  # elements of a tap that are moved one by one: of a feature map not all
LARGEST_BLOCK, BLOCK_ELEMENTS = 2048, 1 << 22  # rows, and elements of all taps, in memory at a time


def neighbours(program: Program, base: Rows) -> Iterator[Rows]:
    """Blocks of rows; ``base`` holds at least one ordinary row to start from."""
    for node in program.nodes:
        # A threshold on a computed value cannot be met by choosing inputs; rows around the
        # decisions, below, come as near to it as the data does.
        if node.inputs[0] < len(program.taps) and node.op in _AROUND:
            yield from _AROUND[node.op](program, node, base)
    yield from _around_decisions(program, base)
    yield from _extremes(program, base)


def beside(value: Any, dtype: Any) -> list[Any]:
    """The codes (or floats) below, at and above a value that the dtype holds."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        v = dtype.type(value)
        return [np.nextafter(v, dtype.type(-np.inf)), v, np.nextafter(v, dtype.type(np.inf))]
    info = np.iinfo(dtype)
    return sorted({min(max(int(value) + d, info.min), info.max) for d in (-1, 0, 1)})


def _repeat(base: Rows, n: int) -> Rows:
    """n rows, cycling through the base rows."""
    return [x[np.arange(n) % len(x)].copy() for x in base]


def _block(base: Rows) -> int:
    """Rows in memory at a time."""
    width = sum(int(x.shape[1]) for x in base)
    return max(1, min(LARGEST_BLOCK, BLOCK_ELEMENTS // width))


def _varied(base: Rows, tap: int, values: dict[int, list[Any]]) -> Iterator[Rows]:
    """The tap's first row with each of the values at its element, one at a time."""
    pairs = [(d, value) for d, at_element in values.items() for value in at_element]
    step = _block(base)
    for start in range(0, len(pairs), step):
        part = pairs[start : start + step]
        x = np.repeat(base[tap][:1], len(part), axis=0)
        x[np.arange(len(part)), [d for d, _ in part]] = [value for _, value in part]
        yield from _replaced(base, tap, x)


def _replaced(base: Rows, tap: int, x: Array) -> Iterator[Rows]:
    step = _block(base)
    for start in range(0, len(x), step):
        part = x[start : start + step]
        rows = _repeat(base, len(part))
        rows[tap] = part
        yield rows


def _around_trees(program: Program, node: Node, base: Rows) -> Iterator[Rows]:
    tap = node.inputs[0]
    dtype = np.dtype(program.taps[tap].dtype)
    forest = Forest.unpack(node.tables, dtype.name)
    leaf = forest.is_leaf
    made = []
    for root in forest.roots:
        stack: list[tuple[int, Array]] = [(root, base[tap][0])]
        while stack:
            index, row = stack.pop()
            if leaf[index]:
                continue
            feature, threshold = forest.feature[index], forest.threshold[index]
            for value in beside(threshold, dtype):
                made.append(row.copy())
                made[-1][feature] = value
            if len(made) >= _block(base):
                yield from _replaced(base, tap, np.array(made, dtype))
                made = []
            around = beside(threshold, dtype)
            for child, value in ((0, around[len(around) // 2]), (1, around[-1])):
                next_row = row.copy()
                if bool(row[feature] <= threshold) != (child == 0):
                    next_row[feature] = value
                stack.append((int(forest.left[index]) + child, next_row))
    if made:
        yield from _replaced(base, tap, np.array(made, dtype))


def _around_boxes(program: Program, node: Node, base: Rows) -> Iterator[Rows]:
    tap, class_node = node.inputs
    lower, upper, _, first = node.tables
    length = program.taps[tap].length
    lower, upper = lower.reshape(-1, length), upper.reshape(-1, length)
    chooser = program.nodes[class_node - len(program.taps)]
    scores = chooser.inputs[0]
    dtype = np.dtype(program.taps[tap].dtype)
    for c in range(first.size - 1):
        for b in range(int(first[c]), int(first[c + 1])):
            middle = (lower[b].astype(np.float64) + upper[b].astype(np.float64)) / 2
            centre = middle.astype(dtype)
            made = []
            for d in range(length):
                for value in {*beside(lower[b, d], dtype), *beside(upper[b, d], dtype)}:
                    made.append(centre.copy())
                    made[-1][d] = value
            for rows in _replaced(base, tap, np.array(made, dtype)):
                if scores < len(program.taps) and scores != tap:
                    rows[scores] = _predicting(c, chooser, rows[scores])
                yield rows


def _predicting(c: int, chooser: Node, x: Array) -> Array:
    """Scores (n, classes) from which the class node chooses class c."""
    if chooser.op == "exceeds":
        return np.full_like(x, beside(chooser.tables[0][0], x.dtype)[-1 if c else 0])
    result = np.zeros_like(x)
    result[:, c] = 1
    return result


def _around_exceeds(program: Program, node: Node, base: Rows) -> Iterator[Rows]:
    tap = node.inputs[0]
    values = beside(node.tables[0][0], program.taps[tap].dtype)
    yield from _replaced(base, tap, np.array(values, program.taps[tap].dtype)[:, None])


def _around_hamming(program: Program, node: Node, base: Rows) -> Iterator[Rows]:
    tap = node.inputs[0]
    dtype = program.taps[tap].dtype
    values = {d: beside(node.tables[0][d], dtype) for d in _moved(program.taps[tap].length)}
    yield from _varied(base, tap, values)


def _around_clip(program: Program, node: Node, base: Rows) -> Iterator[Rows]:
    tap = node.inputs[0]
    values = beside(node.tables[0][0], program.taps[tap].dtype)
    yield from _varied(base, tap, dict.fromkeys(_moved(program.taps[tap].length), values))


_AROUND = {
    "trees": _around_trees,
    "boxes": _around_boxes,
    "exceeds": _around_exceeds,
    "hamming": _around_hamming,
    "clip": _around_clip,
}


def _around_decisions(program: Program, base: Rows) -> Iterator[Rows]:
    """The rows whose scores lie nearest to each threshold, and those with each element of their
    taps moved by one step."""
    values, _ = reference.run_device(program, base)
    for monitor in program.monitors:
        used = [i for i, t in enumerate(program.taps) if t in program.only(monitor.name).taps]
        score = values[monitor.score][:, 0]
        for threshold in {monitor.alarm_above, monitor.uncertain_above}:
            for side in (score < threshold, score == threshold, score > threshold):
                rows = np.flatnonzero(side)
                distance = np.abs(score[rows].astype(np.float64) - threshold)
                for row in rows[np.argsort(distance, kind="stable")[:NEAREST]]:
                    yield from _steps([x[row : row + 1] for x in base], used)


def _steps(row: Rows, taps: list[int]) -> Iterator[Rows]:
    for tap in taps:
        x = row[tap][0]
        elements = _moved(x.size)
        yield from _varied(row, tap, {d: beside(x[d], x.dtype) for d in elements})


def _moved(length: int) -> list[int]:
    """The elements of a tap that are moved one by one, evenly spread."""
    elements = np.unique(np.linspace(0, length - 1, min(length, MOST_MOVED)).astype(int))
    return [int(d) for d in elements]


def _extremes(program: Program, base: Rows) -> Iterator[Rows]:
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
