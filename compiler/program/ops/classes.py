"""Ops that hold x against what is known of the class y: boxes, and patterns of bits (FORMAT.md
sections 7.4 and 7.9). ``first`` says where the entries of each class begin."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from edgemon.compiler.program.grids import (
    Array,
    Represented,
    beside,
    code_at_least,
    code_at_most,
    each,
    f32_at_least,
    f32_at_most,
)
from edgemon.compiler.program.ops.op import F32, REAL, Context, Op, Parts, Value, wide
from edgemon.compiler.program.ops.sums import BLOCK_ELEMENTS
from edgemon.compiler.program.ops.tables import LIKE_X, WIDE_X, finite, positive, width
from edgemon.compiler.program.patterns import unpacked

if TYPE_CHECKING:
    from edgemon.compiler.program.ir import Node
    from edgemon.compiler.program.neighbours import Around, TapRows
    from edgemon.compiler.program.onnx_graph import OnnxGraph
    from edgemon.compiler.program.quantise import Quantiser

NO_BOX = {"int32": 1 << 30, "float32": float(np.finfo(F32).max), REAL: np.inf}
LARGEST_WEIGHT = 1 << 14
MAX_PATTERN = 2048  # bits


def _check_first(c: Context, first: Array) -> None:
    c.require(c.classes == first.size - 1, "`first` must have one entry a class, and one more")
    c.require(first[0] == 0 and bool((np.diff(first.astype(np.int64)) >= 0).all()), "bad `first`")


class Boxes(Op):
    """Weighted signed distance to the nearest box of the class."""

    def infer(self, c: Context) -> Value:
        lower, upper, weight, first = c.tables
        _check_first(c, first)
        c.require(lower.size == upper.size == int(first[-1]) * c.x.length, "wrong number of bounds")
        c.require(bool((lower <= upper).all()), "a lower bound exceeds its upper bound")
        c.require(weight.size == c.x.length and positive(weight), "weights must be positive")
        if c.x.is_float:
            return Value(c.x.dtype, 1)
        c.require(c.x.is_int, "needs a vector of numbers")
        c.require(width(int(weight.max())) + c.x.bits + 1 <= 30, "weights are too large")
        return Value("int32", 1, 30)

    def evaluate(self, node: Node, x: Array, y: Array) -> Array:
        lower, upper, weight, first = node.tables
        x, length = wide(x), x.shape[1]
        lower, upper = (wide(t).reshape(-1, length) for t in (lower, upper))
        worst = x.dtype.type(NO_BOX[x.dtype.name])
        result = np.full((len(x), 1), worst)
        for c in range(first.size - 1):
            a, b = int(first[c]), int(first[c + 1])
            rows = np.flatnonzero(y[:, 0] == c)
            if a == b or not rows.size:
                continue
            step = max(1, BLOCK_ELEMENTS // ((b - a) * length))
            for block in (rows[i : i + step] for i in range(0, rows.size, step)):
                z = x[block, None, :]
                outside = np.maximum(lower[a:b] - z, z - upper[a:b]) * weight
                nearest = outside.max(axis=2).min(axis=1)
                result[block, 0] = np.minimum(nearest, worst) + x.dtype.type(0)
        if x.dtype == F32:
            result[~np.isfinite(x).all(axis=1)] = np.nan
        return result

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        x, y = q.inputs(node)
        lower, upper, weight, first = node.tables
        value = q.type_of(x)
        lower, upper = lower.reshape(-1, value.length), upper.reshape(-1, value.length)
        weights: Array = np.maximum(weight.astype(F32), np.finfo(F32).tiny)
        scale = Fraction(1)
        if value.is_float:
            at_least, at_most = each(lower, f32_at_least, F32), each(upper, f32_at_most, F32)
        else:
            grid = x
            at_least = each(lower, lambda v: code_at_least(v, grid), np.int64)
            at_most = each(upper, lambda v: code_at_most(v, grid), np.int64)
            if value.dtype != "int32":
                info = np.iinfo(value.dtype)
                at_least, at_most = np.maximum(at_least, info.min), np.minimum(at_most, info.max)
        # A box between two neighbouring codes holds no code at all: it can never be entered.
        kept = (at_least <= at_most).all(axis=1)
        if value.dtype == "int32":  # too wide for integer weights
            # Bounds become floats as the values do, so that every comparison stays.
            at_least, at_most = _as_floats(at_least, x), _as_floats(at_most, x)
            x = q.floats(x)
        elif not value.is_float:
            unit = LARGEST_WEIGHT / float(weight.max())
            weights = np.maximum(np.rint(weight * unit), 1).astype(np.int32)
            scale = x.scale / Fraction(unit)
        starts = np.concatenate([[0], np.cumsum(kept)])[first.astype(int)]
        tables = [t.ravel() for t in (at_least[kept], at_most[kept], weights, starts)]
        return Represented(q.node("boxes", x, y, tables=tables), scale)

    def onnx(self, e: OnnxGraph, node: Node, x: str, y: str) -> str:
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

    def edges(self, around: Around) -> Iterator[TapRows]:
        """Each side of each box, with the class that owns it chosen."""
        lower, upper, _, first = around.node.tables
        length, dtype = around.length, around.dtype
        lower, upper = lower.reshape(-1, length), upper.reshape(-1, length)
        for c in range(first.size - 1):
            for b in range(int(first[c]), int(first[c + 1])):
                middle = (lower[b].astype(np.float64) + upper[b].astype(np.float64)) / 2
                centre = middle.astype(dtype)
                made = []
                for d in range(length):
                    for value in {*beside(lower[b, d], dtype), *beside(upper[b, d], dtype)}:
                        made.append(centre.copy())
                        made[-1][d] = value
                yield from around.replaced(np.array(made, dtype), c)

    def widest(self, node: Node) -> int:
        """Every bound."""
        return node.tables[0].size

    def steps(self, node: Node, x: Value) -> int:
        """Two bounds a dimension, over the class with the most boxes; without a box, a look at
        x."""
        return _most(node.tables[3]) * x.length * 2 or x.length

    def reads(self, node: Node, x: Value) -> int:
        """The boxes of the class that has most, the weights, and where a class begins and ends."""
        lower, _, weight, first = node.tables
        boxes = _most(first) * x.length * 2 * lower.itemsize
        return boxes + weight.nbytes + 2 * first.itemsize

    def parts(self, node: Node, x: Value) -> Parts:
        boxes = _most(node.tables[3])
        return {"row": boxes, "boxes_float" if x.is_float else "boxes_int": boxes * x.length}


def _most(first: Array) -> int:
    """Entries of the class that has the most, from where each class begins."""
    return int(np.diff(first.astype(np.int64)).max())


def _as_floats(codes: Array, x: Represented) -> Array:
    """What ``to_f32`` makes of codes of x."""
    return (codes - x.zero_point).astype(F32) * F32(float(x.scale))


class Hamming(Op):
    """Number of bits in which x above its thresholds differs from the nearest pattern of the
    class."""

    def infer(self, c: Context) -> Value:
        threshold, index, patterns, first = c.tables
        c.needs_numbers()
        _check_first(c, first)
        c.require(threshold.size == c.x.length and finite(threshold), "bad thresholds")
        c.require(index.size % c.classes == 0, "`index` must be empty, or have as many a class")
        c.require(not index.size or int(index.max()) < c.x.length, "an index is out of range")
        bits = index.size // c.classes or c.x.length
        c.require(bits <= MAX_PATTERN, f"a pattern of {bits} bits; {MAX_PATTERN} are possible")
        words = -(-bits // 32)
        c.require(patterns.size == int(first[-1]) * words, "wrong number of words")
        unused = patterns[words - 1 :: words] >> np.uint32((bits - 1) % 32) >> np.uint32(1)
        c.require(not unused.any(), "bits behind a pattern must be zero")
        return Value(REAL, 1) if c.x.dtype == REAL else Value("int32", 1, width(bits + 1))

    def evaluate(self, node: Node, x: Array, y: Array) -> Array:
        threshold, index, patterns, first = node.tables
        classes = first.size - 1
        chosen = index.reshape(classes, -1) if index.size else None
        length = x.shape[1] if chosen is None else chosen.shape[1]
        known = unpacked(patterns, length)
        result = np.full((len(x), 1), length + 1, REAL if x.dtype == REAL else np.int32)
        bits = x > threshold
        for c in range(classes):
            rows = np.flatnonzero(y[:, 0] == c)
            own = known[int(first[c]) : int(first[c + 1])].astype(F32)  # exact: whole and small
            if len(rows) and len(own):
                b = (bits[rows] if chosen is None else bits[rows][:, chosen[c]]).astype(F32)
                apart = b @ (1 - 2 * own).T + own.sum(axis=1)
                result[rows, 0] = apart.min(axis=1)
        return result

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        x, y = q.inputs(node)
        x = q.no_int64(x)
        threshold, *patterns = node.tables
        tables = [q.at_most(threshold, x), *patterns]
        return Represented(q.node("hamming", x, y, tables=tables))

    def onnx(self, e: OnnxGraph, node: Node, x: str, y: str) -> str:
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

    def edges(self, around: Around) -> Iterable[TapRows]:
        threshold = around.node.tables[0]
        return around.varied({d: beside(threshold[d], around.dtype) for d in around.moved})

    def widest(self, node: Node) -> int:
        """The distance to every pattern."""
        return int(node.tables[3][-1])

    def steps(self, node: Node, _: Value) -> int:
        """One comparison a bit, then a word of each pattern of the class with the most."""
        return _bits(node) + _most(node.tables[3]) * -(-_bits(node) // 32)

    def reads(self, node: Node, _: Value) -> int:
        """A threshold a bit, the class's indices, the patterns of the class that has most, and
        where they begin and end."""
        threshold, index, patterns, first = node.tables
        bits = _bits(node)
        known = _most(first) * -(-bits // 32) * patterns.itemsize
        own = bits * index.itemsize if index.size else 0
        return min(bits, threshold.size) * threshold.itemsize + own + known + 2 * first.itemsize

    def parts(self, node: Node, x: Value) -> Parts:
        patterns = _most(node.tables[3])
        words = patterns * -(-_bits(node) // 32)
        return {x.one_by_one: _bits(node), "row": patterns, "hamming": words}


def _bits(node: Node) -> int:
    """The length of a pattern."""
    threshold, index, _words, first = node.tables
    return index.size // (first.size - 1) or threshold.size


OPS = (
    Boxes(
        "boxes", 12, 2, {"lower": LIKE_X, "upper": LIKE_X, "weight": WIDE_X, "first": "uint32"}
    ),
    Hamming(
        "hamming", 25, 2,
        {"threshold": WIDE_X, "index": "uint32", "patterns": "uint32", "first": "uint32"},
    ),
)  # fmt: skip
