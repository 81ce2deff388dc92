"""The ops as ONNX: one small function each, as in ``reference.py``.

``x`` and ``y`` are names of (n, length) values, int32 in place of narrower integers. The results
are equal to the reference bit for bit.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from edgemon.compiler.emit.onnx_nodes import F32, Graph
from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Node
from edgemon.compiler.program.ops import NO_BOX
from edgemon.compiler.program.patterns import unpacked
from edgemon.compiler.program.reference import (
    EXP_COEFFICIENTS,
    EXP_LIMIT,
    LN2,
    LN2_HIGH,
    LN2_LOW,
    LOG2_E,
    LOG_COEFFICIENTS,
    LOG_SMALLEST,
)

LARGEST_EXACT = 1 << 24  # whole numbers up to here are exact in float32
EXPONENTS = np.arange(-126, 128)


def _argmax(e: Graph, _: Node, x: str) -> str:
    return e.cast(e.op("ArgMax", x, axis=1, keepdims=1, select_last_index=0), np.int32)


def _max(e: Graph, node: Node, x: str) -> str:
    result = e.reduce("ReduceMax", x, 1)
    return e.plus_zero(result) if node.value.dtype == "float32" else result


def _sub(e: Graph, _: Node, x: str, y: str) -> str:
    return e.op("Sub", x, y)


def _lut(e: Graph, node: Node, x: str) -> str:
    entries, base = node.tables
    wide = e.op("Sub", e.cast(x, np.int64), e.constant(base[0], np.int64))
    last = e.constant(entries.size - 1, np.int64)
    index = e.op("Min", e.op("Max", wide, e.constant(0, np.int64)), last)
    return e.op("Gather", e.constant(entries), index)


def _sum(e: Graph, node: Node, x: str) -> str:
    if node.value.dtype == "int64":
        return e.reduce("ReduceSum", e.cast(x, np.int64), 1)
    return e.halving_sum(x, e.program.value(node.inputs[0]).length, 1)


def _to_f32(e: Graph, node: Node, x: str) -> str:
    scale, zero = node.tables
    if e.program.value(node.inputs[0]).dtype == "float32":
        return e.op("Mul", x, e.constant(scale[0]))
    whole = e.op("Sub", e.cast(x, np.int64), e.constant(zero[0], np.int64))
    return e.op("Mul", e.cast(whole, F32), e.constant(scale[0]))


def _exp(e: Graph, _: Node, x: str) -> str:
    x = e.op("Min", e.op("Max", x, e.constant(-EXP_LIMIT)), e.constant(EXP_LIMIT))
    k = e.op("Floor", e.op("Add", e.op("Mul", x, e.constant(LOG2_E)), e.constant(F32(0.5))))
    r = e.op("Sub", x, e.op("Mul", k, e.constant(LN2_HIGH)))
    r = e.op("Sub", r, e.op("Mul", k, e.constant(LN2_LOW)))
    power = e.op("Add", e.cast(k, np.int64), e.constant(-EXPONENTS[0], np.int64))
    powers = e.constant(np.ldexp(F32(1), EXPONENTS).astype(F32))
    return e.op("Mul", e.horner(r, EXP_COEFFICIENTS), e.op("Gather", powers, power))


def _log(e: Graph, _: Node, x: str) -> str:
    x = e.op("Max", x, e.constant(LOG_SMALLEST))
    # The exponent is the number of powers of two, above the smallest, that x reaches.
    powers = np.ldexp(F32(1), EXPONENTS).astype(F32)
    last = e.op("Unsqueeze", x, e.constant([2], np.int64))
    reached = e.op("GreaterOrEqual", last, e.constant(powers[1:]))
    index = e.reduce("ReduceSum", e.cast(reached, np.int64), 2, keep=False)
    inverse = np.ldexp(F32(1), -EXPONENTS).astype(F32)
    m = e.op("Mul", x, e.op("Gather", e.constant(inverse), index))
    k = e.cast(e.op("Add", index, e.constant(EXPONENTS[0], np.int64)), F32)
    one = e.constant(F32(1))
    s = e.op("Div", e.op("Sub", m, one), e.op("Add", m, one))
    p = e.horner(e.op("Mul", s, s), LOG_COEFFICIENTS)
    return e.op("Add", e.op("Mul", s, p), e.op("Mul", k, e.constant(LN2)))


def _add(e: Graph, node: Node, x: str, y: str) -> str:
    if node.value.dtype == "int64":
        return e.op("Add", e.cast(x, np.int64), e.cast(y, np.int64))
    return e.op("Add", x, y)


def _mul(e: Graph, _: Node, x: str, y: str) -> str:
    return e.op("Mul", x, y)


def _div(e: Graph, _: Node, x: str, y: str) -> str:
    return e.op("Div", x, y)


def _boxes(e: Graph, node: Node, x: str, y: str) -> str:
    lower, upper, weight, first = node.tables
    dtype = np.dtype(node.value.dtype)
    worst = NO_BOX[node.value.dtype]
    count = int(first[-1])
    if count == 0:
        none = e.constant(worst, dtype)
        return e.op("Where", e.op("Less", y, e.constant(0, np.int32)), none, none)
    shape = (1, count, weight.size)
    lo, hi = (e.constant(t.astype(dtype).reshape(shape)) for t in (lower, upper))
    z = e.op("Unsqueeze", x, e.constant([1], np.int64))
    outside = e.op("Max", e.op("Sub", lo, z), e.op("Sub", z, hi))
    weighted = e.op("Mul", outside, e.constant(weight.astype(dtype)))
    far = e.reduce("ReduceMax", weighted, 2, keep=False)
    owner = np.repeat(np.arange(first.size - 1), np.diff(first).astype(np.int64))
    mine = e.op("Equal", e.constant(owner[None].astype(np.int32)), y)
    nearest = e.reduce("ReduceMin", e.op("Where", mine, far, e.constant(worst, dtype)), 1)
    capped = e.op("Min", nearest, e.constant(worst, dtype))
    return e.plus_zero(capped) if dtype == F32 else capped


def _trees(e: Graph, node: Node, x: str) -> str:
    source = e.program.value(node.inputs[0])
    forest = Forest.unpack(node.tables, source.dtype)
    if 1 << source.bits > LARGEST_EXACT:
        raise CompileError("trees: the input is too wide for ONNX's float32 comparisons")
    if np.abs(forest.value).max(initial=0) * len(forest.roots) > LARGEST_EXACT:
        raise CompileError("trees: the leaf values are too large for ONNX's float32 sums")
    ends = (*forest.roots[1:], forest.left.size)
    constant = sum(
        int(forest.value[r]) for r, d in zip(forest.roots, forest.depths, strict=True) if d == 0
    )
    ids: list[tuple[int, int]] = []  # (tree, node) of trees with at least one split
    leaf = forest.is_leaf
    for tree, (root, end) in enumerate(zip(forest.roots, ends, strict=True)):
        if forest.depths[tree]:
            ids += [(tree, i) for i in range(root, end)]
    if not ids:
        fixed = e.constant(constant, np.int32)
        first = e.part(x, 0, 1)
        return e.op("Where", e.op("Equal", first, first), fixed, fixed)
    at = np.array([i for _, i in ids])
    base = np.array([forest.roots[t] for t, _ in ids])
    leaves = [(t, i) for t, i in ids if leaf[i]]
    summed = e.op(
        "TreeEnsembleRegressor",
        e.cast(x, F32),
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function="SUM",
        post_transform="NONE",
        nodes_treeids=[t for t, _ in ids],
        nodes_nodeids=(at - base).tolist(),
        nodes_featureids=forest.feature[at].tolist(),
        nodes_modes=["LEAF" if leaf[i] else "BRANCH_LEQ" for i in at],
        nodes_missing_value_tracks_true=[1] * len(ids),
        nodes_values=np.where(leaf[at], 0, forest.threshold[at]).astype(float).tolist(),
        nodes_truenodeids=np.where(leaf[at], 0, forest.left[at] - base).tolist(),
        nodes_falsenodeids=np.where(leaf[at], 0, forest.left[at] + 1 - base).tolist(),
        target_treeids=[t for t, _ in leaves],
        target_nodeids=[i - forest.roots[t] for t, i in leaves],
        target_ids=[0] * len(leaves),
        target_weights=[float(forest.value[i]) for _, i in leaves],
    )
    return e.op("Add", e.cast(summed, np.int32), e.constant(constant, np.int32))


def _omit(e: Graph, node: Node, x: str, y: str) -> str:
    places = e.constant(np.arange(node.value.length, dtype=np.int32)[None])
    zero = e.constant(0, np.dtype(node.value.dtype))
    return e.op("Where", e.op("Equal", places, y), zero, x)


def _exceeds(e: Graph, node: Node, x: str) -> str:
    return e.cast(e.op("Greater", x, e.constant(node.tables[0][0])), np.int32)


def _gather(e: Graph, node: Node, x: str) -> str:
    return e.op("Gather", x, e.constant(node.tables[0].astype(np.int64)), axis=1)


def _reduce(e: Graph, node: Node, x: str) -> str:
    channels = int(node.tables[0][0])
    positions = e.program.value(node.inputs[0]).length // channels
    parts = e.shaped(x, 0, positions, channels)
    if node.value.dtype == "int32":
        return e.reduce("ReduceSum", parts, 1, keep=False)
    summed = e.halving_sum(e.op("Transpose", parts, perm=[0, 2, 1]), positions, 2)
    return e.op("Mul", e.shaped(summed, 0, channels), e.constant(F32(1 / positions)))


def _affine(e: Graph, node: Node, x: str) -> str:
    weight, bias = node.tables
    length = weight.size // bias.size
    kind = np.dtype(node.value.dtype)
    matrix = e.constant(weight.astype(kind).reshape(1, bias.size, length))
    products = e.op("Mul", e.op("Unsqueeze", x, e.constant([1], np.int64)), matrix)
    if kind == F32:
        summed = e.shaped(e.halving_sum(products, length, 2), 0, bias.size)
    else:
        summed = e.reduce("ReduceSum", products, 2, keep=False)
    result = e.op("Add", summed, e.constant(bias.reshape(1, -1)))
    # ONNX Runtime leaves out an addition of zeros, and a sum of -0 would stay one.
    return e.plus_zero(result) if kind == F32 and not bias.all() else result


def _select(e: Graph, node: Node, x: str, y: str) -> str:
    length = node.value.length
    start = e.op("Mul", e.cast(y, np.int64), e.constant(length, np.int64))
    index = e.op("Add", start, e.constant(np.arange(length)[None]))
    return e.op("GatherElements", x, index, axis=1)


def _tables(e: Graph, node: Node, x: str) -> str:
    origin, rate, shape, entries = node.tables
    classes, bins = (int(v) for v in shape)
    t = e.op("Mul", e.op("Sub", x, e.constant(origin[None])), e.constant(rate[None]))
    t = e.op("Min", e.op("Max", t, e.constant(F32(0))), e.constant(F32(bins - 1)))
    # Row i of class c starts at (c * d + i) * G in the flat entries.
    starts = np.arange(classes * origin.size).reshape(1, classes, origin.size) * bins
    index = e.op("Unsqueeze", e.cast(t, np.int64), e.constant([1], np.int64))
    found = e.op(
        "Gather", e.constant(entries.astype(np.int32)), e.op("Add", index, e.constant(starts))
    )
    return e.reduce("ReduceSum", found, 2, keep=False)


def _kernels(e: Graph, node: Node, x: str) -> str:
    shape, centres, scale, log_weight = node.tables
    classes, count = (int(v) for v in shape)
    length = centres.size // (classes * count)
    centre = (centres.astype(F32) * scale).reshape(1, classes, count, length)
    u = e.op("Sub", e.shaped(x, 0, classes, 1, length), e.constant(centre))
    squares = e.halving_sum(e.op("Mul", u, u), length, 3)
    half = e.op("Mul", e.shaped(squares, 0, classes * count), e.constant(F32(0.5)))
    return e.op("Sub", e.constant(log_weight[None]), half)


def _logsumexp(e: Graph, node: Node, x: str) -> str:
    groups = node.value.length
    size = e.program.value(node.inputs[0]).length // groups
    parts = e.shaped(x, 0, groups, size)
    top = e.reduce("ReduceMax", parts, 2)
    grown = e.halving_sum(_exp(e, node, e.op("Sub", parts, top)), size, 2)
    return e.op("Add", e.shaped(top, 0, groups), _log(e, node, e.shaped(grown, 0, groups)))


def _distances(e: Graph, node: Node, x: str) -> str:
    (centres,) = node.tables
    length = e.program.value(node.inputs[0]).length
    grid = centres.reshape(1, -1, length)
    u = e.op("Sub", e.op("Unsqueeze", x, e.constant([1], np.int64)), e.constant(grid))
    return e.shaped(e.halving_sum(e.op("Mul", u, u), length, 2), 0, grid.shape[1])


def _concat(e: Graph, _: Node, x: str, y: str) -> str:
    return e.op("Concat", x, y, axis=1)


def _hamming(e: Graph, node: Node, x: str, y: str) -> str:
    threshold, index, patterns, first = node.tables
    classes = first.size - 1
    length = index.size // classes or threshold.size
    bits = e.cast(e.op("Greater", x, e.constant(threshold[None])), F32)
    if index.size:
        own = e.op("Gather", e.constant(index.reshape(classes, -1).astype(np.int64)), y, axis=0)
        bits = e.op("GatherElements", bits, e.shaped(own, 0, length), axis=1)
    # One more pattern, which no class owns, keeps the product from being empty.
    known = np.vstack([unpacked(patterns, length), np.zeros((1, length), bool)])
    place = np.arange(len(known) - 1)
    owner = np.append(np.searchsorted(first[1:], place, side="right"), -1)
    signs = e.cast(e.constant(1 - 2 * known.T.astype(np.int8)), F32)
    ones = e.constant(known.sum(axis=1).astype(F32)[None])
    apart = e.op("Add", e.op("MatMul", bits, signs), ones)  # exact: whole numbers, and small
    mine = e.op("Equal", y, e.constant(owner.astype(np.int32)[None]))
    nearest = e.op("Where", mine, apart, e.constant(F32(length + 1)))
    return e.cast(e.reduce("ReduceMin", nearest, 1), np.int32)


def _clip(e: Graph, node: Node, x: str) -> str:
    upper = e.constant(node.tables[0][0])
    return e.op("Where", e.op("Greater", x, upper), upper, x)  # a NaN stays


OPS: dict[str, Callable[..., str]] = {
    "argmax": _argmax,
    "max": _max,
    "sub": _sub,
    "lut": _lut,
    "sum": _sum,
    "to_f32": _to_f32,
    "exp": _exp,
    "log": _log,
    "add": _add,
    "mul": _mul,
    "div": _div,
    "boxes": _boxes,
    "trees": _trees,
    "omit": _omit,
    "exceeds": _exceeds,
    "gather": _gather,
    "reduce": _reduce,
    "affine": _affine,
    "select": _select,
    "tables": _tables,
    "kernels": _kernels,
    "distances": _distances,
    "logsumexp": _logsumexp,
    "concat": _concat,
    "hamming": _hamming,
    "clip": _clip,
}
