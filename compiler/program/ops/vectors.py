"""Ops on a vector as a whole: its largest element, its sum, and choices of its elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from edgemon.compiler.program.grids import Array, Represented
from edgemon.compiler.program.ops.op import REAL, Context, Op, Parts, Value, wide
from edgemon.compiler.program.ops.sums import float_sums, halving_sum
from edgemon.compiler.program.ops.tables import width

if TYPE_CHECKING:
    from edgemon.compiler.program.ir import Node
    from edgemon.compiler.program.onnx_graph import OnnxGraph
    from edgemon.compiler.program.quantise import Quantiser


class _Search(Op):
    def parts(self, _: Node, x: Value) -> Parts:
        return {x.one_by_one: x.length}


class _OnGridOfX(Op):
    def quantise(self, q: Quantiser, node: Node) -> Represented:
        inputs = q.inputs(node)
        return inputs[0].at(q.node(self.name, *inputs, tables=node.tables))


class _Copy(_OnGridOfX):
    def parts(self, node: Node, _: Value) -> Parts:
        return {"vector": node.value.length}


class Argmax(_Search):
    """A class node: of a model with one output a class."""

    def infer(self, c: Context) -> Value:
        c.needs_numbers()
        return Value("int32", 1, width(c.x.length))

    def evaluate(self, _: Node, x: Array) -> Array:
        best: Array = x.argmax(axis=1, keepdims=True)
        return best.astype(np.int32)

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        return Represented(q.node("argmax", *q.inputs(node)))

    def onnx(self, e: OnnxGraph, _: Node, x: str) -> str:
        return e.cast(e.op("ArgMax", x, axis=1, keepdims=1, select_last_index=0), np.int32)

    def classes(self, x: Value) -> int:
        return x.length

    def choosing(self, _: Node, c: int, x: Array) -> Array:
        result = np.zeros_like(x)
        result[:, c] = 1
        return result


class Max(_Search, _OnGridOfX):
    def infer(self, c: Context) -> Value:
        c.needs_numbers()
        return Value(c.x.dtype, 1) if c.x.is_float else Value("int32", 1, c.x.bits)

    def evaluate(self, _: Node, x: Array) -> Array:
        largest: Array = wide(x).max(axis=1, keepdims=True) + x.dtype.type(0)
        return largest

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        result = e.reduce("ReduceMax", x, 1)
        return e.plus_zero(result) if node.value.is_float else result


class Sum(Op):
    def infer(self, c: Context) -> Value:
        if c.x.is_float:
            return Value(c.x.dtype, 1)
        c.require(c.x.dtype == "int32", "needs int32 or float")
        return Value("int64", 1, c.x.bits + width(c.x.length))

    def evaluate(self, _: Node, x: Array) -> Array:
        if x.dtype == np.int32:
            whole: Array = x.sum(axis=1, keepdims=True, dtype=np.int64)
            return whole
        return halving_sum(x)

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        (x,) = q.inputs(node)
        if not q.is_float(x) and x.zero_point == 0:
            return x.at(q.node("sum", x))
        return super().quantise(q, node)

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        if node.value.dtype == "int64":
            return e.reduce("ReduceSum", e.cast(x, np.int64), 1)
        return e.halving_sum(x, e.program.value(node.inputs[0]).length, 1)

    def parts(self, _: Node, x: Value) -> Parts:
        return float_sums("vector", 1, x.length) if x.is_float else {"vector": x.length}


class Omit(_Copy):
    def infer(self, c: Context) -> Value:
        c.require(c.x.dtype == "int32" or c.x.is_float, "needs int32 or float")
        over = c.classes == c.x.length and c.by_argmax
        c.require(over, "the second input must be the argmax over as many classes")
        return c.x

    def evaluate(self, _: Node, x: Array, y: Array) -> Array:
        return np.where(np.arange(x.shape[1]) == y, x.dtype.type(0), x)

    def onnx(self, e: OnnxGraph, node: Node, x: str, y: str) -> str:
        places = e.constant(np.arange(node.value.length, dtype=np.int32)[None])
        zero = e.constant(0, np.dtype(node.value.dtype))
        return e.op("Where", e.op("Equal", places, y), zero, x)


class Gather(_OnGridOfX):
    def infer(self, c: Context) -> Value:
        (index,) = c.tables
        c.needs_numbers()
        c.require(index.size >= 1 and int(index.max()) < c.x.length, "an index is out of range")
        return Value(c.x.dtype if c.x.is_float else "int32", index.size, c.x.bits)

    def evaluate(self, node: Node, x: Array) -> Array:
        return wide(x)[:, node.tables[0].astype(np.int64)]

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        return e.op("Gather", x, e.constant(node.tables[0].astype(np.int64)), axis=1)


class Select(_Copy):
    """The part of x that belongs to the class; each class has one."""

    def infer(self, c: Context) -> Value:
        c.require(c.x.dtype == "int32" or c.x.is_float, "needs int32 or float")
        c.require(c.classes > 0 and c.x.length % c.classes == 0, "needs one part a class")
        return Value(c.x.dtype, c.x.length // c.classes, c.x.bits)

    def evaluate(self, node: Node, x: Array, y: Array) -> Array:
        length = node.value.length
        return np.take_along_axis(x, y.astype(np.int64) * length + np.arange(length), axis=1)

    def onnx(self, e: OnnxGraph, node: Node, x: str, y: str) -> str:
        length = node.value.length
        start = e.op("Mul", e.cast(y, np.int64), e.constant(length, np.int64))
        index = e.op("Add", start, e.constant(np.arange(length)[None]))
        return e.op("GatherElements", x, index, axis=1)


class Concat(Op):
    def infer(self, c: Context) -> Value:
        length = c.x.length + c.y.length
        if c.is_float(c.x, c.y):
            return Value(c.x.dtype, length)
        kinds = {c.x.dtype, c.y.dtype}
        if REAL in kinds and kinds <= {"int32", "int64", REAL}:  # whole numbers are reals
            return Value(REAL, length)
        fit = c.x.is_int and c.y.is_int
        c.require(fit, "needs two vectors of integers or two of floats")
        return Value("int32", length, max(c.x.bits, c.y.bits))

    def evaluate(self, _: Node, x: Array, y: Array) -> Array:
        return np.concatenate([wide(x), wide(y)], axis=1)

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        x, y = q.inputs(node)
        if x.alike(y) and q.type_of(x).is_int and q.type_of(y).is_int:
            return x.at(q.node("concat", x, y))
        return super().quantise(q, node)

    def onnx(self, e: OnnxGraph, _: Node, x: str, y: str) -> str:
        return e.op("Concat", x, y, axis=1)


OPS = (
    Argmax("argmax", 1, 1),
    Max("max", 2, 1),
    Sum("sum", 5, 1),
    Omit("omit", 14, 2),
    Gather("gather", 16, 1, {"index": "uint32"}),
    Select("select", 19, 2),
    Concat("concat", 24, 2),
)
