"""The ops: their numbers in the flat format, and the rule that types each result.

A type rule checks inputs and tables and gives dtype, length and, for integers, ``bits``. Meaning:
``reference.py``; the same rules in words: ``runtime/FORMAT.md`` section 7.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.forest import Forest

Array = npt.NDArray[Any]

REAL = "float64"
TAP_BITS = {"int8": 7, "uint8": 8, "int16": 15, "float32": 0}
MAX_LENGTH = 1 << 20
MAX_WORKSPACE = 1 << 24
MAX_MONITORS = 32
MAX_PATTERN = 2048  # bits
MAX_BITS = {"int32": 30, "int64": 62}
NO_BOX = {"int32": 1 << 30, "float32": float(np.finfo(np.float32).max), REAL: np.inf}


@dataclass(frozen=True)
class Value:
    """Type of a value: dtype, number of elements, and for integers ``abs(x) <= 2**bits``."""

    dtype: str
    length: int
    bits: int = 0


def width(n: int) -> int:
    """Smallest w with n <= 2**w."""
    return (n - 1).bit_length() if n > 1 else 0


@dataclass(frozen=True)
class Context:
    """What a type rule may look at."""

    op: str
    inputs: tuple[Value, ...]
    tables: tuple[Array, ...]
    classes: int  # of the class node that is the last input; 0 if it is none
    by_argmax: bool  # is that class node an argmax?

    @property
    def x(self) -> Value:
        return self.inputs[0]

    @property
    def y(self) -> Value:
        return self.inputs[1]

    def require(self, condition: bool, what: str) -> None:
        if not condition:
            types = ", ".join(f"{v.dtype}[{v.length}]" for v in self.inputs)
            raise CompileError(f"{self.op}({types}): {what}")

    def is_int(self, *values: Value) -> bool:
        return all(v.dtype in ("int8", "uint8", "int16", "int32") for v in values)

    def is_float(self, *values: Value) -> bool:
        return len({v.dtype for v in values}) == 1 and values[0].dtype in ("float32", REAL)


@dataclass(frozen=True)
class Op:
    """Number in the flat format (0: in real programs only), and the rule that types a result."""

    id: int
    infer: Callable[[Context], Value]


def _argmax(c: Context) -> Value:
    c.require(c.is_int(c.x) or c.is_float(c.x), "needs a vector of numbers")
    return Value("int32", 1, width(c.x.length))


def _max(c: Context) -> Value:
    if c.is_float(c.x):
        return Value(c.x.dtype, 1)
    c.require(c.is_int(c.x), "needs a vector of numbers")
    return Value("int32", 1, c.x.bits)


def _sub(c: Context) -> Value:
    c.require(c.y.length == 1, "the subtrahend must be one number")
    if c.is_float(c.x, c.y):
        return Value(c.x.dtype, c.x.length)
    c.require(c.is_int(c.x, c.y), "needs two integers or two floats")
    return Value("int32", c.x.length, max(c.x.bits, c.y.bits) + 1)


def _lut(c: Context) -> Value:
    entries, base = c.tables
    c.require(c.x.dtype in ("int32", REAL), "needs an int32 vector")
    c.require(entries.dtype == np.int32 and 1 <= entries.size <= 65536, "bad entries")
    c.require(base.dtype == np.int32 and base.size == 1, "bad base")
    if c.x.dtype == REAL:
        return c.x
    return Value("int32", c.x.length, width(_largest(entries)))


def _sum(c: Context) -> Value:
    if c.is_float(c.x):
        return Value(c.x.dtype, 1)
    c.require(c.x.dtype == "int32", "needs int32 or float")
    return Value("int64", 1, c.x.bits + width(c.x.length))


def _to_f32(c: Context) -> Value:
    scale, zero = c.tables
    f32 = c.x.dtype == "float32"
    c.require(c.is_int(c.x) or c.x.dtype == "int64" or f32, "needs numbers of a device program")
    c.require(zero.dtype == np.int32 and zero.size == 1, "bad zero")
    c.require(not (f32 and zero[0]), "floats have no zero point")
    c.require(scale.dtype == np.float32 and scale.size == 1 and _positive(scale), "bad scale")
    return Value("float32", c.x.length)


def _unary(c: Context) -> Value:
    c.require(c.is_float(c.x), "needs floats")
    return c.x


def _scale(c: Context) -> Value:
    c.require(c.x.dtype == REAL, "exists in real programs only")
    c.require(c.tables[0].size == 1 and _positive(c.tables[0]), "needs one positive factor")
    return c.x


def _xexp(c: Context) -> Value:
    c.require(c.x.dtype == REAL, "exists in real programs only")
    return c.x


def _add(c: Context) -> Value:
    c.require(c.x.length == c.y.length, "needs equal lengths")
    if c.is_float(c.x, c.y):
        return c.x
    wide = ("int32", "int64")
    c.require(c.x.dtype in wide and c.y.dtype in wide, "needs two integers or two floats")
    return Value("int64", c.x.length, max(c.x.bits, c.y.bits) + 1)


def _mul(c: Context) -> Value:
    c.require(c.is_float(c.x, c.y) and c.x.length == c.y.length, "needs floats of equal length")
    return c.x


def _div(c: Context) -> Value:
    c.require(c.is_float(c.x, c.y) and c.y.length == 1, "needs floats and one divisor")
    return c.x


def _boxes(c: Context) -> Value:
    lower, upper, weight, first = c.tables
    real = c.x.dtype == REAL
    c.require(c.classes == first.size - 1, "`first` must have one entry a class, and one more")
    c.require(lower.dtype == upper.dtype == np.dtype(c.x.dtype), "bounds must be of the tap's type")
    c.require(lower.size == upper.size == int(first[-1]) * c.x.length, "wrong number of bounds")
    c.require(first[0] == 0 and bool((np.diff(first.astype(np.int64)) >= 0).all()), "bad `first`")
    c.require(bool((lower <= upper).all()), "a lower bound exceeds its upper bound")
    c.require(weight.size == c.x.length and _positive(weight), "weights must be positive")
    if c.is_float(c.x):
        c.require(weight.dtype == np.dtype(c.x.dtype), "weights must be of the tap's type")
        return Value(REAL if real else "float32", 1)
    c.require(c.is_int(c.x) and weight.dtype == np.int32, "integer weights must be int32")
    c.require(width(int(weight.max())) + c.x.bits + 1 <= 30, "weights are too large")
    return Value("int32", 1, 30)


def _trees(c: Context) -> Value:
    c.require(c.is_int(c.x) or c.is_float(c.x), "needs a vector of int32 or narrower, or of floats")
    forest = Forest.unpack(c.tables, c.x.dtype)
    forest.check(c.x.length)
    if c.x.dtype == REAL:
        return Value(REAL, 1)
    return Value(
        "int32", 1, width(int(np.abs(forest.value).max(initial=0))) + width(len(forest.roots))
    )


def _omit(c: Context) -> Value:
    c.require(c.x.dtype == "int32" or c.is_float(c.x), "needs int32 or float")
    over = c.classes == c.x.length and c.by_argmax
    c.require(over, "the second input must be the argmax over as many classes")
    return c.x


def _exceeds(c: Context) -> Value:
    (threshold,) = c.tables
    c.require(c.x.length == 1 and threshold.size == 1, "compares one number with one")
    c.require(_matches(c, threshold), "the threshold must be of the input's kind")
    return Value("int32", 1)


def _gather(c: Context) -> Value:
    (index,) = c.tables
    c.require(c.is_int(c.x) or c.is_float(c.x), "needs a vector of numbers")
    c.require(index.size >= 1 and int(index.max()) < c.x.length, "an index is out of range")
    return Value("int32" if c.is_int(c.x) else c.x.dtype, index.size, c.x.bits)


def _reduce(c: Context) -> Value:
    channels = int(c.tables[0][0])
    c.require(channels >= 1 and c.x.length % channels == 0, "channels must divide the length")
    if c.is_float(c.x):
        return Value(c.x.dtype, channels)
    c.require(c.is_int(c.x), "needs a vector of numbers")
    return Value("int32", channels, c.x.bits + width(c.x.length // channels))


def _affine(c: Context) -> Value:
    weight, bias = c.tables
    c.require(bias.size >= 1 and weight.size == bias.size * c.x.length, "wrong number of weights")
    c.require(_finite(weight) and _finite(bias), "weights must be finite")
    if c.is_float(c.x):
        c.require(weight.dtype == bias.dtype == np.dtype(c.x.dtype), "weights must be floats")
        return Value(c.x.dtype, bias.size)
    c.require(c.is_int(c.x), "needs a vector of numbers")
    c.require(weight.dtype == np.int16 and bias.dtype == np.int32, "weights must be integers")
    sums = c.x.bits + width(_largest(weight)) + width(c.x.length)
    return Value("int32", bias.size, max(sums, width(_largest(bias))) + 1)


def _select(c: Context) -> Value:
    c.require(c.x.dtype == "int32" or c.is_float(c.x), "needs int32 or float")
    c.require(c.classes > 0 and c.x.length % c.classes == 0, "needs one part a class")
    return Value(c.x.dtype, c.x.length // c.classes, c.x.bits)


def _tables(c: Context) -> Value:
    origin, rate, shape, entries = c.tables
    classes, bins = (int(v) for v in shape)
    c.require(c.is_float(c.x), "needs floats")
    c.require(origin.size == rate.size == c.x.length, "one origin and one rate a dimension")
    c.require(_finite(origin) and _positive(rate), "bad origin or rate")
    c.require(classes >= 1 and 1 <= bins <= 65536, "bad shape")
    c.require(entries.size == classes * c.x.length * bins, "wrong number of entries")
    c.require(entries.dtype == np.int16, "entries must be int16")
    if c.x.dtype == REAL:
        return Value(REAL, classes)
    return Value("int32", classes, width(_largest(entries)) + width(c.x.length))


def _kernels(c: Context) -> Value:
    shape, centres, scale, log_weight = c.tables
    classes, kernels = (int(v) for v in shape)
    c.require(c.is_float(c.x), "needs floats")
    c.require(classes >= 1 and kernels >= 1 and c.x.length % classes == 0, "bad shape")
    c.require(centres.size == kernels * c.x.length, "wrong number of centres")
    c.require(centres.dtype == np.int8 and scale.size == 1 and _positive(scale), "bad centres")
    c.require(log_weight.size == classes * kernels and _finite(log_weight), "bad weights")
    return Value(c.x.dtype, classes * kernels)


def _distances(c: Context) -> Value:
    (centres,) = c.tables
    c.require(c.is_float(c.x), "needs floats")
    c.require(centres.size >= 1 and centres.size % c.x.length == 0, "wrong number of centres")
    c.require(_finite(centres), "centres must be finite")
    return Value(c.x.dtype, centres.size // c.x.length)


def _logsumexp(c: Context) -> Value:
    groups = int(c.tables[0][0])
    c.require(c.is_float(c.x), "needs floats")
    c.require(groups >= 1 and c.x.length % groups == 0, "groups must divide the length")
    return Value(c.x.dtype, groups)


def _concat(c: Context) -> Value:
    length = c.x.length + c.y.length
    if c.is_float(c.x, c.y):
        return Value(c.x.dtype, length)
    kinds = {c.x.dtype, c.y.dtype}
    if REAL in kinds and kinds <= {"int32", "int64", REAL}:  # whole numbers are reals
        return Value(REAL, length)
    c.require(c.is_int(c.x, c.y), "needs two vectors of integers or two of floats")
    return Value("int32", length, max(c.x.bits, c.y.bits))


def _hamming(c: Context) -> Value:
    threshold, index, patterns, first = c.tables
    c.require(c.is_int(c.x) or c.is_float(c.x), "needs a vector of numbers")
    c.require(c.classes == first.size - 1, "`first` must have one entry a class, and one more")
    c.require(first[0] == 0 and bool((np.diff(first.astype(np.int64)) >= 0).all()), "bad `first`")
    c.require(threshold.size == c.x.length and _matches(c, threshold), "bad thresholds")
    c.require(index.size % c.classes == 0, "`index` must be empty, or have as many a class")
    c.require(not index.size or int(index.max()) < c.x.length, "an index is out of range")
    bits = index.size // c.classes or c.x.length
    c.require(bits <= MAX_PATTERN, f"a pattern of {bits} bits; {MAX_PATTERN} are possible")
    words = -(-bits // 32)
    c.require(patterns.dtype == np.uint32, "patterns must be uint32 words")
    c.require(patterns.size == int(first[-1]) * words, "wrong number of words")
    unused = patterns[words - 1 :: words] >> np.uint32((bits - 1) % 32) >> np.uint32(1)
    c.require(not unused.any(), "bits behind a pattern must be zero")
    return Value(REAL, 1) if c.x.dtype == REAL else Value("int32", 1, width(bits + 1))


def _clip(c: Context) -> Value:
    (upper,) = c.tables
    c.require(upper.size == 1 and _matches(c, upper), "the bound must be of the input's kind")
    if c.is_float(c.x):
        return c.x
    return Value("int32", c.x.length, max(c.x.bits, width(_largest(upper))))


def _matches(c: Context, table: Array) -> bool:
    """Is the table int32 for an integer input, and of the input's own type for a float one?"""
    wanted = np.dtype("int32" if c.is_int(c.x) else c.x.dtype)
    return (c.is_int(c.x) or c.is_float(c.x)) and table.dtype == wanted and _finite(table)


def _largest(table: Array) -> int:
    return int(np.abs(table.astype(np.int64)).max())


def _finite(table: Array) -> bool:
    return bool(np.isfinite(table).all())


def _positive(table: Array) -> bool:
    return bool(np.isfinite(table).all() and (table > 0).all())


OPS: dict[str, Op] = {
    "argmax": Op(1, _argmax),
    "max": Op(2, _max),
    "sub": Op(3, _sub),
    "lut": Op(4, _lut),
    "sum": Op(5, _sum),
    "to_f32": Op(6, _to_f32),
    "exp": Op(7, _unary),
    "log": Op(8, _unary),
    "add": Op(9, _add),
    "mul": Op(10, _mul),
    "div": Op(11, _div),
    "boxes": Op(12, _boxes),
    "trees": Op(13, _trees),
    "omit": Op(14, _omit),
    "exceeds": Op(15, _exceeds),
    "gather": Op(16, _gather),
    "reduce": Op(17, _reduce),
    "affine": Op(18, _affine),
    "select": Op(19, _select),
    "tables": Op(20, _tables),
    "kernels": Op(21, _kernels),
    "distances": Op(22, _distances),
    "logsumexp": Op(23, _logsumexp),
    "concat": Op(24, _concat),
    "hamming": Op(25, _hamming),
    "clip": Op(26, _clip),
    "xexp": Op(0, _xexp),
    "scale": Op(0, _scale),
}
