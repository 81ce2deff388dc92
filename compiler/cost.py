"""What one evaluation of a program costs, counted rather than measured.

A step is what an inner loop does once: compare, look up, multiply and add, or exponentiate one
element. Evaluation has no early exit, so that the count bounds every evaluation; only ``boxes``
takes fewer, for a class with fewer boxes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgemon.compiler.ir import Node, Program


def steps(program: Program) -> dict[str, int]:
    """Most steps of one evaluation, by op, in the order of the program."""
    found: dict[str, int] = {}
    for node in program.nodes:
        length = program.value(node.inputs[0]).length
        count = _STEPS.get(node.op, _elements)(node, length)
        found[node.op] = found.get(node.op, 0) + count
    return found


def monitor_steps(program: Program) -> dict[str, int]:
    """Most steps of each monitor alone, by its name; shared nodes count for every monitor."""
    return {m.name: sum(steps(program.only(m.name)).values()) for m in program.monitors}


def _elements(node: Node, length: int) -> int:
    """One step an element of what is read or written, whichever is longer."""
    return max(length, node.value.length)


def _boxes(node: Node, length: int) -> int:
    """Two bounds a dimension, over the class with the most boxes."""
    return int(np.diff(node.tables[3].astype(np.int64)).max()) * length * 2


def _trees(node: Node, _: int) -> int:
    """One comparison a level; the last table holds pairs of root and depth."""
    return int(node.tables[2][1::2].sum())


def _hamming(node: Node, _: int) -> int:
    """One comparison a bit, then a word of each pattern of the class with the most."""
    threshold, index, _words, first = node.tables
    bits = index.size // (first.size - 1) or threshold.size
    return bits + int(np.diff(first.astype(np.int64)).max()) * -(-bits // 32)


_STEPS: dict[str, Callable[[Node, int], int]] = {
    "boxes": _boxes,
    "hamming": _hamming,
    "trees": _trees,
    "affine": lambda node, _: node.tables[0].size,
    "tables": lambda node, length: int(node.tables[2][0]) * length,
    "kernels": lambda node, _: node.tables[1].size,
    "distances": lambda node, _: node.tables[0].size,
}
