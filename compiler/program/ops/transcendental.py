"""Exponentials and logarithms (FORMAT.md sections 7.2 and 7.3). Of integers with few codes they
become tables."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from math import factorial
from typing import TYPE_CHECKING

import numpy as np

from edgemon.compiler.program.grids import Array, Represented
from edgemon.compiler.program.ops.op import F32, REAL, Context, Op, Parts, Value

if TYPE_CHECKING:
    from edgemon.compiler.program.ir import Node
    from edgemon.compiler.program.onnx_graph import OnnxGraph
    from edgemon.compiler.program.quantise import Quantiser

LOG2_E, LN2_HIGH, LN2_LOW, LN2 = np.array(
    [0x3FB8AA3B, 0x3F318000, 0xB95E8083, 0x3F317218], np.uint32
).view(F32)
EXP_LIMIT = F32(86.0)
EXP_COEFFICIENTS = tuple(F32(1.0 / factorial(i)) for i in range(8))
LOG_SMALLEST = F32(2.0**-126)
LOG_COEFFICIENTS = tuple(F32(2.0 / (2 * i + 1)) for i in range(7))
TRANSCENDENTAL = 16  # steps of an exponential or a logarithm
EXPONENTS = np.arange(-126, 128)
UNIT_BITS = 30  # 1.0 in a table of exponentials
TABULATED_BITS = 9  # of the widest integers whose exponentials are looked up


class _OfFloats(Op):
    def infer(self, c: Context) -> Value:
        c.require(c.is_float(c.x), "needs floats")
        return c.x

    def steps(self, _: Node, x: Value) -> int:
        return TRANSCENDENTAL * x.length

    def parts(self, _: Node, x: Value) -> Parts:
        return {self.name: x.length}


class Exp(_OfFloats):
    def evaluate(self, _: Node, x: Array) -> Array:
        return exp(x)

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        return _tabulated(q, node, np.exp) or super().quantise(q, node)

    def onnx(self, e: OnnxGraph, _: Node, x: str) -> str:
        return onnx_exp(e, x)


class Log(_OfFloats):
    def evaluate(self, _: Node, x: Array) -> Array:
        return log(x)

    def onnx(self, e: OnnxGraph, _: Node, x: str) -> str:
        return onnx_log(e, x)


class Xexp(Op):
    """x times its exponential, the terms of an entropy."""

    def infer(self, c: Context) -> Value:
        c.require(c.x.dtype == REAL, "exists in real programs only")
        return c.x

    def evaluate(self, _: Node, x: Array) -> Array:
        return np.multiply(x, np.exp(x))

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        table = _tabulated(q, node, lambda d: d * np.exp(d))
        if table:
            return table
        x = q.floats(*q.inputs(node))
        return Represented(q.node("mul", x, Represented(q.node("exp", x))))


def exp(x: Array) -> Array:
    return np.exp(x) if x.dtype == REAL else exp_f32(x)


def exp_f32(x: Array) -> Array:
    """FORMAT.md section 7.2."""
    x = np.minimum(np.maximum(x, -EXP_LIMIT), EXP_LIMIT)
    k = np.floor(x * LOG2_E + F32(0.5))
    r = (x - k * LN2_HIGH) - k * LN2_LOW
    p = np.full_like(x, EXP_COEFFICIENTS[-1])
    for c in EXP_COEFFICIENTS[-2::-1]:
        p = p * r + c
    result: Array = p * np.ldexp(F32(1), k.astype(np.int32))
    return result


def onnx_exp(e: OnnxGraph, x: str) -> str:
    x = e.op("Min", e.op("Max", x, e.constant(-EXP_LIMIT)), e.constant(EXP_LIMIT))
    k = e.op("Floor", e.op("Add", e.op("Mul", x, e.constant(LOG2_E)), e.constant(F32(0.5))))
    r = e.op("Sub", x, e.op("Mul", k, e.constant(LN2_HIGH)))
    r = e.op("Sub", r, e.op("Mul", k, e.constant(LN2_LOW)))
    power = e.op("Add", e.cast(k, np.int64), e.constant(-EXPONENTS[0], np.int64))
    powers = e.constant(np.ldexp(F32(1), EXPONENTS).astype(F32))
    return e.op("Mul", e.horner(r, EXP_COEFFICIENTS), e.op("Gather", powers, power))


def log(x: Array) -> Array:
    return np.log(x) if x.dtype == REAL else log_f32(x)


def log_f32(x: Array) -> Array:
    """FORMAT.md section 7.3."""
    half, exponent = np.frexp(np.maximum(x, LOG_SMALLEST))
    m, k = half * F32(2), (exponent - 1).astype(F32)
    s = (m - F32(1)) / (m + F32(1))
    t = s * s
    p = np.full_like(x, LOG_COEFFICIENTS[-1])
    for d in LOG_COEFFICIENTS[-2::-1]:
        p = p * t + d
    result: Array = s * p + k * LN2
    return result


def onnx_log(e: OnnxGraph, x: str) -> str:
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


def _tabulated(q: Quantiser, node: Node, function: Callable[[Array], Array]) -> Represented | None:
    """A function of a non-positive integer value as a table of fixed-point numbers, if the
    value has few enough codes."""
    (x,) = q.inputs(node)
    bits = q.type_of(x).bits
    if q.is_float(x) or bits > TABULATED_BITS:
        return None
    codes = np.arange(-(1 << bits), 1)
    entries = np.rint(function(codes * float(x.scale)) * 2.0**UNIT_BITS).astype(np.int32)
    # Codes whose entry equals that of the lowest code need no entry of their own.
    start = int(np.argmax(entries != entries[0])) - 1 if (entries != entries[0]).any() else 0
    start = max(start, 0)
    tables = [entries[start:], np.array([codes[start]], np.int32)]
    return Represented(q.node("lut", x, tables=tables), Fraction(1, 1 << UNIT_BITS))


OPS = (Exp("exp", 7, 1), Log("log", 8, 1), Xexp("xexp", 0, 1))
