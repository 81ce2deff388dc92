"""How long one evaluation takes on a target: parts counted here, times from the target's profile.

The parts (``targets.times.PARTS``) follow the inner loops of the C runtime. Evaluation has no
early exit, so that a count bounds every evaluation; only ``boxes`` and ``hamming`` take fewer, for
a class with fewer boxes or patterns. What is not modelled: caches, and how busy the device is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program.ir import Node, Program, Tap
from edgemon.compiler.program.ops import Value
from edgemon.targets import OpTimes

Parts = dict[str, int]

BYTES = ("int8", "uint8")
BYTE_LANES = 16  # channels that ``reduce`` sums side by side (em_family_vectors.c)
AFFINE_PART = 64  # elements of x that integer ``affine`` takes at a time (em_family_dense.c)
SUM_LANES, SHORT_SUM = 8, 64  # of float sums (em_math.h)
SUM_TAIL = 4  # terms behind whole lanes that compilers take at a time
TREES_TOGETHER = 4  # (em_family_trees.c)


def nanoseconds(program: Program, times: OpTimes) -> float:
    """Estimated time of one evaluation of a device program, everything in it included."""
    return times.of(parts(program))


def parts(program: Program) -> Parts:
    """How many of each part one evaluation of a device program has."""
    found = Counter({"evaluation": 1, "node": len(program.monitors)})
    for tap in program.taps:
        found.update(of_tap(tap))
    for node in program.nodes:
        found.update(of_node(node, [program.value(i) for i in node.inputs]))
    return dict(found)


def of_tap(tap: Tap) -> Parts:
    """What it takes to accept a tap."""
    return {"node": 1, **({"check": tap.length} if tap.dtype == "float32" else {})}


def of_node(node: Node, inputs: Sequence[Value]) -> Parts:
    """What it takes to run a node on inputs of these types."""
    return {"node": 1, **_PARTS.get(node.op, _elements)(node, inputs[0])}


def _elements(node: Node, x: Value) -> Parts:
    """Of what is read or written, whichever is longer."""
    return {"vector" if _is_float(x) else _one_by_one(x): max(x.length, node.value.length)}


def _search(_: Node, x: Value) -> Parts:
    return {_one_by_one(x): x.length}


def _copied(node: Node, _: Value) -> Parts:
    return {"vector": node.value.length}


def _sum(_: Node, x: Value) -> Parts:
    return _float_sums("vector", 1, x.length) if _is_float(x) else {"vector": x.length}


def _reduce(node: Node, x: Value) -> Parts:
    channels = node.value.length
    positions = x.length // channels
    if _is_float(x):
        return _float_sums("reduce_float", channels, positions)
    lanes = channels - channels % BYTE_LANES if x.dtype in BYTES else 0
    return {
        "row": lanes // BYTE_LANES + channels - lanes,
        "reduce_int": lanes * positions,
        "reduce_scalar": (channels - lanes) * positions,
    }


def _affine(node: Node, x: Value) -> Parts:
    rows = node.value.length
    if _is_float(x):
        return _float_sums("affine_float", rows, x.length)
    if x.dtype == "int32":
        return {"row": rows, "affine_wide": rows * x.length}
    return {
        "vector": x.length,  # to 16 bits
        "row": rows * -(-x.length // AFFINE_PART),
        "affine_int": rows * x.length,
    }


def _kernels(node: Node, x: Value) -> Parts:
    return _float_sums("kernels", node.value.length, x.length // int(node.tables[0][0]))


def _distances(node: Node, x: Value) -> Parts:
    return _float_sums("distances", node.value.length, x.length)


def _float_sums(kind: str, sums: int, terms: int) -> Parts:
    """Sums of floats by halving, which fill up to a power of two."""
    padded = SUM_LANES
    while padded < terms:
        padded *= 2
    found = {"sum": sums, kind: sums * padded}
    if terms > SHORT_SUM:
        found["long_sum"] = sums * padded
    elif terms > SUM_LANES and terms % SUM_TAIL:
        found["ragged"] = sums
    return found


def _logsumexp(node: Node, x: Value) -> Parts:
    groups = node.value.length
    found = _float_sums("logsumexp", groups, x.length // groups)
    return {**found, "logsumexp": x.length, "scalar": x.length, "log": groups}


def _tables(node: Node, x: Value) -> Parts:
    return {"row": x.length, "tables": x.length * node.value.length}


def _boxes(node: Node, x: Value) -> Parts:
    most = _most(node.tables[3])
    return {"row": most, "boxes_float" if _is_float(x) else "boxes_int": most * x.length}


def _trees(node: Node, _: Value) -> Parts:
    """Four trees go side by side, as many steps as the deepest of them. Of those that are left
    over, the deepest waits for its memory, and the others fill the wait."""
    depths = node.tables[2][1::2].astype(np.int64)
    together = len(depths) - len(depths) % TREES_TOGETHER
    deepest = depths[:together].reshape(-1, TREES_TOGETHER).max(axis=1, initial=0)
    left = depths[together:]
    alone = int(left.max(initial=0))
    return {"trees": TREES_TOGETHER * int(deepest.sum()) + int(left.sum()) - alone, "tree": alone}


def _hamming(node: Node, x: Value) -> Parts:
    """The bits of the input, then the patterns of the class with the most."""
    threshold, index, _words, first = node.tables
    bits = index.size // (first.size - 1) or threshold.size
    most = _most(first)
    return {_one_by_one(x): bits, "row": most, "hamming": most * -(-bits // 32)}


def _most(first: npt.NDArray[np.uint32]) -> int:
    """Entries of the class that has the most, from where each class begins."""
    return int(np.diff(first.astype(np.int64)).max())


def _one_by_one(x: Value) -> str:
    return "byte" if x.dtype in BYTES else "scalar"


def _is_float(x: Value) -> bool:
    return x.dtype == "float32"


_PARTS: dict[str, Callable[[Node, Value], Parts]] = {
    "argmax": _search,
    "max": _search,
    "sum": _sum,
    "exp": lambda _, x: {"exp": x.length},
    "log": lambda _, x: {"log": x.length},
    "omit": _copied,
    "select": _copied,
    "reduce": _reduce,
    "affine": _affine,
    "tables": _tables,
    "kernels": _kernels,
    "distances": _distances,
    "logsumexp": _logsumexp,
    "boxes": _boxes,
    "trees": _trees,
    "hamming": _hamming,
}
