"""Ops on each element by itself: arithmetic, look-ups and comparisons."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.grids import Array, Represented, beside
from edgemon.compiler.program.ops.op import F32, REAL, Context, Op, Value, wide
from edgemon.compiler.program.ops.tables import WIDE_X, bits_of, finite, positive

if TYPE_CHECKING:
    from edgemon.compiler.program.ir import Node
    from edgemon.compiler.program.neighbours import Around, TapRows
    from edgemon.compiler.program.onnx_graph import OnnxGraph
    from edgemon.compiler.program.quantise import Quantiser


class Sub(Op):
    def infer(self, c: Context) -> Value:
        c.require(c.y.length == 1, "the subtrahend must be one number")
        if c.is_float(c.x, c.y):
            return Value(c.x.dtype, c.x.length)
        c.require(c.x.is_int and c.y.is_int, "needs two integers or two floats")
        return Value("int32", c.x.length, max(c.x.bits, c.y.bits) + 1)

    def evaluate(self, _: Node, x: Array, y: Array) -> Array:
        return np.subtract(wide(x), wide(y))

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        x, y = q.inputs(node)
        if not q.is_float(x) and x.alike(y):
            return Represented(q.node("sub", x, y), x.scale)
        return super().quantise(q, node)

    def onnx(self, e: OnnxGraph, _: Node, x: str, y: str) -> str:
        return e.op("Sub", x, y)


class Lut(Op):
    def infer(self, c: Context) -> Value:
        entries, base = c.tables
        c.require(c.x.dtype in ("int32", REAL), "needs an int32 vector")
        c.require(1 <= entries.size <= 65536 and base.size == 1, "bad entries or base")
        return c.x if c.x.is_float else Value("int32", c.x.length, bits_of(entries))

    def evaluate(self, node: Node, x: Array) -> Array:
        entries, base = node.tables
        index = np.clip(x.astype(np.int64) - base[0], 0, entries.size - 1)
        found: Array = entries.astype(x.dtype)[index]
        return found

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        (x,) = q.inputs(node)
        if q.is_float(x) or x.scale != 1 or x.zero_point:
            raise CompileError("lut: a table is looked up by whole numbers only")
        return Represented(q.node("lut", x, tables=node.tables))

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        entries, base = node.tables
        offset = e.op("Sub", e.cast(x, np.int64), e.constant(base[0], np.int64))
        last = e.constant(entries.size - 1, np.int64)
        index = e.op("Min", e.op("Max", offset, e.constant(0, np.int64)), last)
        return e.op("Gather", e.constant(entries), index)


class ToF32(Op):
    def infer(self, c: Context) -> Value:
        scale, zero = c.tables
        f32 = c.x.dtype == "float32"
        c.require(c.x.is_int or c.x.dtype == "int64" or f32, "needs numbers of a device program")
        c.require(zero.size == 1, "bad zero")
        c.require(not (f32 and zero[0]), "floats have no zero point")
        c.require(scale.size == 1 and positive(scale), "bad scale")
        return Value("float32", c.x.length)

    def evaluate(self, node: Node, x: Array) -> Array:
        scale, zero = node.tables
        if x.dtype == F32:
            return np.multiply(x, scale)
        return np.multiply((x.astype(np.int64) - zero).astype(F32), scale)

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        scale, zero = node.tables
        if e.program.value(node.inputs[0]).is_float:
            return e.op("Mul", x, e.constant(scale[0]))
        whole = e.op("Sub", e.cast(x, np.int64), e.constant(zero[0], np.int64))
        return e.op("Mul", e.cast(whole, F32), e.constant(scale[0]))


class Scale(Op):
    """The same codes under another scale; in a device program no node, or ``to_f32``."""

    def infer(self, c: Context) -> Value:
        c.require(c.x.dtype == REAL, "exists in real programs only")
        c.require(c.tables[0].size == 1 and positive(c.tables[0]), "needs one positive factor")
        return c.x

    def evaluate(self, node: Node, x: Array) -> Array:
        return np.multiply(x, node.tables[0])

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        (x,), factor = q.inputs(node), node.tables[0]
        if not q.is_float(x):  # another scale stands for other reals
            return Represented(x.id, x.scale * Fraction(float(factor[0])), x.zero_point)
        return Represented(q.node("to_f32", x, tables=[factor, np.zeros(1)]))


class Add(Op):
    def infer(self, c: Context) -> Value:
        c.require(c.x.length == c.y.length, "needs equal lengths")
        if c.is_float(c.x, c.y):
            return c.x
        whole = ("int32", "int64")
        c.require(c.x.dtype in whole and c.y.dtype in whole, "needs two integers or two floats")
        return Value("int64", c.x.length, max(c.x.bits, c.y.bits) + 1)

    def evaluate(self, _: Node, x: Array, y: Array) -> Array:
        return np.add(x, y) if x.dtype.kind == "f" else np.add(x, y, dtype=np.int64)

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        x, y = q.inputs(node)
        if not q.is_float(x) and not q.is_float(y) and x.scale == y.scale:
            return Represented(q.node("add", x, y), x.scale, x.zero_point + y.zero_point)
        return super().quantise(q, node)

    def onnx(self, e: OnnxGraph, node: Node, x: str, y: str) -> str:
        if node.value.dtype == "int64":
            return e.op("Add", e.cast(x, np.int64), e.cast(y, np.int64))
        return e.op("Add", x, y)


class Mul(Op):
    def infer(self, c: Context) -> Value:
        fit = c.is_float(c.x, c.y) and c.x.length == c.y.length
        c.require(fit, "needs floats of equal length")
        return c.x

    def evaluate(self, _: Node, x: Array, y: Array) -> Array:
        return np.multiply(x, y)

    def onnx(self, e: OnnxGraph, _: Node, x: str, y: str) -> str:
        return e.op("Mul", x, y)


class Div(Op):
    def infer(self, c: Context) -> Value:
        c.require(c.is_float(c.x, c.y) and c.y.length == 1, "needs floats and one divisor")
        return c.x

    def evaluate(self, _: Node, x: Array, y: Array) -> Array:
        return np.divide(x, y)

    def onnx(self, e: OnnxGraph, _: Node, x: str, y: str) -> str:
        return e.op("Div", x, y)


class Exceeds(Op):
    """A class node: of a model with one output unit."""

    def infer(self, c: Context) -> Value:
        (threshold,) = c.tables
        c.needs_numbers()
        c.require(c.x.length == 1 and threshold.size == 1, "compares one number with one")
        c.require(finite(threshold), "the threshold must be finite")
        return Value("int32", 1)

    def evaluate(self, node: Node, x: Array) -> Array:
        return (x > node.tables[0]).astype(np.int32)

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        (x,) = q.inputs(node)
        return Represented(q.node("exceeds", x, tables=[q.at_most(node.tables[0], x)]))

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        return e.cast(e.op("Greater", x, e.constant(node.tables[0][0])), np.int32)

    def classes(self, _: Value) -> int:
        return 2

    def choosing(self, node: Node, c: int, x: Array) -> Array:
        return np.full_like(x, beside(node.tables[0][0], x.dtype)[-1 if c else 0])

    def edges(self, around: Around) -> Iterable[TapRows]:
        values = beside(around.node.tables[0][0], around.dtype)
        return around.replaced(np.array(values, around.dtype)[:, None])


class Clip(Op):
    def infer(self, c: Context) -> Value:
        (upper,) = c.tables
        c.needs_numbers()
        c.require(upper.size == 1 and finite(upper), "needs one finite bound")
        if c.x.is_float:
            return c.x
        return Value("int32", c.x.length, max(c.x.bits, bits_of(upper)))

    def evaluate(self, node: Node, x: Array) -> Array:
        (upper,) = node.tables
        return np.where(x > upper[0], upper[0], wide(x))

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        x = q.no_int64(*q.inputs(node))
        most = (1 << q.type_of(x).bits) - 1  # no x is above, but a bound may be below all
        return x.at(q.node("clip", x, tables=[q.at_most(node.tables[0], x, 1 - (1 << 31), most)]))

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        upper = e.constant(node.tables[0][0])
        return e.op("Where", e.op("Greater", x, upper), upper, x)  # a NaN stays

    def edges(self, around: Around) -> Iterable[TapRows]:
        values = beside(around.node.tables[0][0], around.dtype)
        return around.varied(dict.fromkeys(around.moved, values))


OPS = (
    Sub("sub", 3, 2),
    Lut("lut", 4, 1, {"entries": "int32", "base": "int32"}),
    ToF32("to_f32", 6, 1, {"scale": "float32", "zero": "int32"}),
    Add("add", 9, 2),
    Mul("mul", 10, 2),
    Div("div", 11, 2),
    Exceeds("exceeds", 15, 1, {"threshold": WIDE_X}),
    Clip("clip", 26, 1, {"upper": WIDE_X}),
    Scale("scale", 0, 1, {"factor": WIDE_X}),
)
