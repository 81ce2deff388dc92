"""Ops of many products and squares: with a table of weights, centres or densities (FORMAT.md
sections 7.6 to 7.8), and the squared error of two vectors."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from edgemon.compiler.program.grids import Array, Represented
from edgemon.compiler.program.ops.op import BYTES, F32, MAX_BITS, REAL, Context, Op, Parts, Value
from edgemon.compiler.program.ops.sums import float_sums, halving_sum, rowwise, squared_distances
from edgemon.compiler.program.ops.tables import SHORT_X, WIDE_X, bits_of, finite, positive, width
from edgemon.compiler.program.ops.transcendental import TRANSCENDENTAL, exp, log, onnx_exp, onnx_log

if TYPE_CHECKING:
    from edgemon.compiler.program.ir import Node
    from edgemon.compiler.program.onnx_graph import OnnxGraph
    from edgemon.compiler.program.quantise import Quantiser

AFFINE_PART = 128  # elements of x that integer ``affine`` takes at a time (em_family_dense.c)
NARROW_BITS = 15  # inputs of fewer are taken as 16-bit integers (em_family_dense.c)
WIDEST_AFFINE = 12  # bits of inputs of integer weighted sums: sums of up to 32 codes
AFFINE_BITS = MAX_BITS["int32"] - 1  # of weighted sums, of which differences are taken
FEWEST_WEIGHT_BITS = 7  # as int8 models have; with fewer, weighted sums are of floats


class Affine(Op):
    def infer(self, c: Context) -> Value:
        weight, bias = c.tables
        fit = bias.size >= 1 and weight.size == bias.size * c.x.length
        c.require(fit, "wrong number of weights")
        c.require(finite(weight) and finite(bias), "weights must be finite")
        c.needs_numbers()
        if c.x.is_float:
            return Value(c.x.dtype, bias.size)
        sums = c.x.bits + bits_of(weight) + width(c.x.length)
        return Value("int32", bias.size, max(sums, bits_of(bias)) + 1)

    def evaluate(self, node: Node, x: Array) -> Array:
        weight, bias = node.tables
        matrix = weight.reshape(bias.size, -1)
        if x.dtype.kind != "f":
            return (x.astype(np.int64) @ matrix.T.astype(np.int64) + bias).astype(np.int32)
        return np.add(rowwise(x, lambda rows: rows[:, None, :] * matrix), bias)

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        (x,) = q.inputs(node)
        weight, bias = node.tables
        value = q.type_of(x)
        room = AFFINE_BITS - 1 - value.bits - width(value.length)  # bits of a weight
        if not q.is_float(x) and value.bits <= WIDEST_AFFINE and room >= FEWEST_WEIGHT_BITS:
            scale, tables = _whole(x, weight, bias, room)
            return Represented(q.node("affine", x, tables=tables), scale)
        plus_zero = bias.astype(F32) + F32(0)  # no -0, which sums would keep
        return Represented(q.node("affine", q.floats(x), tables=[weight.astype(F32), plus_zero]))

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
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

    def steps(self, node: Node, _: Value) -> int:
        return node.tables[0].size

    def parts(self, node: Node, x: Value) -> Parts:
        rows = node.value.length
        if x.is_float:
            return float_sums("affine_float", rows, x.length)
        if x.dtype == "int32" and x.bits >= NARROW_BITS:
            return {"row": rows, "affine_wide": rows * x.length}
        return {
            "vector": x.length,  # to 16 bits
            "row": rows * -(-x.length // AFFINE_PART),
            "affine_int": rows * x.length,
        }


def _whole(x: Represented, weight: Array, bias: Array, room: int) -> tuple[Fraction, list[Array]]:
    """One scale for all results: as fine as 16-bit weights and ``AFFINE_BITS`` allow, of which
    the zero point takes its part: the bias holds the sum of the weights times that."""
    most_weight = min(1 << room, int(np.iinfo(np.int16).max))
    most_bias = 1 << (AFFINE_BITS - 1)
    finest = float(np.abs(weight).max()) * float(x.scale) / most_weight
    scale = Fraction(max(finest, float(np.abs(bias).max()) / (most_bias >> 1), 1e-30))
    while True:
        codes = np.rint(weight * float(x.scale / scale)).astype(np.int16)
        offset = codes.reshape(bias.size, -1).astype(np.int64).sum(axis=1) * x.zero_point
        shifted = np.rint(bias / float(scale)).astype(np.int64) - offset
        if np.abs(shifted).max() <= most_bias:
            return scale, [codes, shifted.astype(np.int32)]
        scale *= 2


class Tables(Op):
    """Sums of tabulated log-densities, one a class."""

    def infer(self, c: Context) -> Value:
        origin, rate, shape, entries = c.tables
        classes, bins = (int(v) for v in shape)
        c.require(c.x.is_float, "needs floats")
        c.require(origin.size == rate.size == c.x.length, "one origin and one rate a dimension")
        c.require(finite(origin) and positive(rate), "bad origin or rate")
        c.require(classes >= 1 and 1 <= bins <= 65536, "bad shape")
        c.require(entries.size == classes * c.x.length * bins, "wrong number of entries")
        if c.x.dtype == REAL:
            return Value(REAL, classes)
        return Value("int32", classes, bits_of(entries) + width(c.x.length))

    def evaluate(self, node: Node, x: Array) -> Array:
        origin, rate, shape, entries = node.tables
        classes, bins = (int(v) for v in shape)
        t = (x - origin) * rate
        t = np.minimum(np.where(t > 0, t, x.dtype.type(0)), x.dtype.type(bins - 1))
        index = t.astype(np.int64)
        table = entries.reshape(classes, x.shape[1], bins).astype(np.int64)
        found: Array = table[:, np.arange(x.shape[1]), index].sum(axis=2).T
        return found.astype(x.dtype if x.dtype == REAL else np.int32)

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
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

    def steps(self, node: Node, x: Value) -> int:
        return node.value.length * x.length

    def reads(self, node: Node, x: Value) -> int:
        """One entry a class and dimension, whatever the bin."""
        origin, rate, shape, entries = node.tables
        found = node.value.length * x.length * entries.itemsize
        return origin.nbytes + rate.nbytes + shape.nbytes + found

    def parts(self, node: Node, x: Value) -> Parts:
        return {"row": x.length, "tables": x.length * node.value.length}


class Kernels(Op):
    """Logarithms of weighted Gaussian kernels, several a class."""

    def infer(self, c: Context) -> Value:
        shape, centres, scale, log_weight = c.tables
        classes, kernels = (int(v) for v in shape)
        c.require(c.x.is_float, "needs floats")
        c.require(classes >= 1 and kernels >= 1 and c.x.length % classes == 0, "bad shape")
        c.require(centres.size == kernels * c.x.length, "wrong number of centres")
        c.require(scale.size == 1 and positive(scale), "bad scale")
        c.require(log_weight.size == classes * kernels and finite(log_weight), "bad weights")
        return Value(c.x.dtype, classes * kernels)

    def evaluate(self, node: Node, x: Array) -> Array:
        shape, centres, scale, log_weight = node.tables
        classes, count = (int(v) for v in shape)
        centre = (centres.astype(x.dtype) * scale).reshape(classes, count, -1)
        own = x.reshape(len(x), classes, -1)
        squares = np.concatenate(
            [squared_distances(own[:, c], centre[c]) for c in range(classes)], axis=1
        )
        result: Array = log_weight - squares * x.dtype.type(0.5)
        return result

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        shape, centres, scale, log_weight = node.tables
        classes, count = (int(v) for v in shape)
        length = centres.size // (classes * count)
        centre = (centres.astype(F32) * scale).reshape(1, classes, count, length)
        u = e.op("Sub", e.shaped(x, 0, classes, 1, length), e.constant(centre))
        squares = e.halving_sum(e.op("Mul", u, u), length, 3)
        half = e.op("Mul", e.shaped(squares, 0, classes * count), e.constant(F32(0.5)))
        return e.op("Sub", e.constant(log_weight[None]), half)

    def steps(self, node: Node, _: Value) -> int:
        return node.tables[1].size

    def parts(self, node: Node, x: Value) -> Parts:
        return float_sums("kernels", node.value.length, x.length // int(node.tables[0][0]))


class Distances(Op):
    """Squared distances to centres."""

    def infer(self, c: Context) -> Value:
        (centres,) = c.tables
        c.require(c.x.is_float, "needs floats")
        c.require(centres.size >= 1 and centres.size % c.x.length == 0, "wrong number of centres")
        c.require(finite(centres), "centres must be finite")
        return Value(c.x.dtype, centres.size // c.x.length)

    def evaluate(self, node: Node, x: Array) -> Array:
        return squared_distances(x, node.tables[0].reshape(-1, x.shape[1]))

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        length = e.program.value(node.inputs[0]).length
        grid = node.tables[0].reshape(1, -1, length)
        u = e.op("Sub", e.op("Unsqueeze", x, e.constant([1], np.int64)), e.constant(grid))
        return e.shaped(e.halving_sum(e.op("Mul", u, u), length, 2), 0, grid.shape[1])

    def steps(self, node: Node, _: Value) -> int:
        return node.tables[0].size

    def parts(self, node: Node, x: Value) -> Parts:
        return float_sums("distances", node.value.length, x.length)


class Logsumexp(Op):
    """Logarithm of the summed exponentials of each group."""

    def infer(self, c: Context) -> Value:
        groups = int(c.tables[0][0])
        c.require(c.x.is_float, "needs floats")
        c.require(groups >= 1 and c.x.length % groups == 0, "groups must divide the length")
        return Value(c.x.dtype, groups)

    def evaluate(self, node: Node, x: Array) -> Array:
        group = x.reshape(-1, x.shape[1] // int(node.tables[0][0]))
        top = group.max(axis=1, keepdims=True)
        total = halving_sum(exp(group - top))
        result: Array = (top + log(total)).reshape(len(x), -1)
        return result

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        groups = node.value.length
        size = e.program.value(node.inputs[0]).length // groups
        parts = e.shaped(x, 0, groups, size)
        top = e.reduce("ReduceMax", parts, 2)
        grown = e.halving_sum(onnx_exp(e, e.op("Sub", parts, top)), size, 2)
        return e.op("Add", e.shaped(top, 0, groups), onnx_log(e, e.shaped(grown, 0, groups)))

    def steps(self, node: Node, x: Value) -> int:
        return TRANSCENDENTAL * (x.length + node.value.length)

    def parts(self, node: Node, x: Value) -> Parts:
        groups = node.value.length
        found = float_sums("logsumexp", groups, x.length // groups)
        return {**found, "logsumexp": x.length, "scalar": x.length, "log": groups}


class SquaredError(Op):
    """Sum of the squared differences of two vectors."""

    def infer(self, c: Context) -> Value:
        c.require(c.x.length == c.y.length, "needs equal lengths")
        if c.is_float(c.x, c.y):
            return Value(c.x.dtype, 1)
        c.require(c.x.is_int and c.y.is_int, "needs two vectors of integers or two of floats")
        return Value("int64", 1, _bits_of_squares(c.x, c.y))

    def evaluate(self, _: Node, x: Array, y: Array) -> Array:
        if x.dtype.kind == "f":
            return halving_sum(np.square(np.subtract(x, y)))
        apart = np.subtract(x, y, dtype=np.int64)
        squares: Array = np.einsum("ij,ij->i", apart, apart)[:, None]
        return squares

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        """Whole numbers where codes of both stand for the same reals."""
        x, y = q.inputs(node)
        types = q.type_of(x), q.type_of(y)
        exact = x.alike(y) and all(t.is_int for t in types)
        if exact and _bits_of_squares(*types) <= MAX_BITS["int64"]:
            return Represented(q.node("squared_error", x, y), x.scale**2)
        return super().quantise(q, node)

    def onnx(self, e: OnnxGraph, node: Node, x: str, y: str) -> str:
        if node.value.is_float:
            u = e.op("Sub", x, y)
            return e.halving_sum(e.op("Mul", u, u), e.program.value(node.inputs[0]).length, 1)
        u = e.op("Sub", e.cast(x, np.int64), e.cast(y, np.int64))
        return e.reduce("ReduceSum", e.op("Mul", u, u), 1)

    def parts(self, _: Node, x: Value) -> Parts:
        if x.is_float:
            return float_sums("distances", 1, x.length)
        return {"vector" if x.dtype in BYTES else "reduce_scalar": x.length}


def _bits_of_squares(x: Value, y: Value) -> int:
    return 2 * (max(x.bits, y.bits) + 1) + width(x.length)


OPS = (
    Affine("affine", 18, 1, {"weight": SHORT_X, "bias": WIDE_X}),
    Tables(
        "tables", 20, 1,
        {"origin": WIDE_X, "rate": WIDE_X, "shape": "uint32", "entries": "int16"},
    ),
    Kernels(
        "kernels", 21, 1,
        {"shape": "uint32", "centres": "int8", "scale": WIDE_X, "log_weight": WIDE_X},
    ),
    Distances("distances", 22, 1, {"centres": WIDE_X}),
    Logsumexp("logsumexp", 23, 1, {"groups": "uint32"}),
    SquaredError("squared_error", 29, 2),
)  # fmt: skip
