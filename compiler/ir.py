"""The program: what every monitor lowers to, and the only thing that the emitters know.

A program is a list of nodes in static single assignment over *taps* (tensors of the classifier).
Value ids: 0 .. len(taps)-1 are the taps, then one value a node. Each value is a vector.

There are two levels, with the same classes:

* a *real* program, as monitors write it: values are reals (``float64``) and thresholds are as
  fitted; it reads dequantised taps;
* a *device* program, as ``passes.quantise`` makes it: integer wherever the taps are integer,
  float32 elsewhere; this is what is emitted, proven and run.

Types and shapes are checked while a program is built. The meaning of each op is in
``reference.py``; the bytes, ids and the rule for ``bits`` are in ``runtime/FORMAT.md`` section 7.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.forest import Forest

Array = npt.NDArray[Any]

REAL = "float64"
TAP_BITS = {"int8": 7, "uint8": 8, "int16": 15, "float32": 0}
MAX_BITS = {"int32": 30, "int64": 62}
NO_BOX = {"int32": 1 << 30, "float32": float(np.finfo(np.float32).max), REAL: np.inf}


@dataclass(frozen=True)
class Tap:
    """A tensor that monitors read, flattened; real value = scale * (code - zero_point)."""

    name: str
    dtype: str  # "int8", "uint8", "int16" or "float32"
    length: int
    scale: float = 1.0
    zero_point: int = 0

    def values(self, codes: Array) -> npt.NDArray[np.float64]:
        """Real values of an array of codes, exact for the float32 scale times a small integer."""
        if self.dtype == "float32":
            return codes.astype(np.float64)
        return self.scale * (codes.astype(np.float64) - self.zero_point)


@dataclass(frozen=True)
class Value:
    """Type of a value: dtype, number of elements, and for integers ``abs(x) <= 2**bits``."""

    dtype: str
    length: int
    bits: int = 0


@dataclass(frozen=True, eq=False)
class Node:
    op: str
    inputs: tuple[int, ...]
    tables: tuple[Array, ...]
    value: Value


@dataclass(frozen=True)
class Monitor:
    """A score and the rule that turns it into a verdict (strict comparisons, raw units)."""

    name: str
    score: int  # value id
    alarm_above: float | int
    uncertain_above: float | int
    display: str = "linear"  # or "odds": shown as r / (1 + r)
    display_scale: float = 1.0

    def shown(self, raw: float | int) -> float:
        """A raw score or threshold in the unit that people are shown."""
        value = float(raw * self.display_scale)
        return value / (1 + value) if self.display == "odds" else value


@dataclass(frozen=True, eq=False)
class Program:
    taps: tuple[Tap, ...]
    nodes: tuple[Node, ...]
    monitors: tuple[Monitor, ...]
    predicted: int  # value id of an argmax

    def value(self, index: int) -> Value:
        """Type of a value by its id."""
        if index < len(self.taps):
            tap = self.taps[index]
            return Value(tap.dtype, tap.length, TAP_BITS[tap.dtype])
        return self.nodes[index - len(self.taps)].value

    def with_monitors(self, monitors: Sequence[Monitor]) -> Program:
        """The same nodes under other decision rules."""
        return replace(self, monitors=tuple(monitors))

    def only(self, name: str) -> Program:
        """The program of one monitor alone: nodes and taps that it does not use are gone."""
        monitor = next(m for m in self.monitors if m.name == name)
        first = len(self.taps)
        used = {monitor.score, self.predicted}
        for index in range(first + len(self.nodes) - 1, first - 1, -1):
            if index in used:
                used.update(self.nodes[index - first].inputs)
        builder = Builder([t for i, t in enumerate(self.taps) if i in used])
        renamed = {old: new for new, old in enumerate(i for i in range(first) if i in used)}
        for index in sorted(i for i in used if i >= first):
            node = self.nodes[index - first]
            renamed[index] = builder.copy(node, tuple(renamed[i] for i in node.inputs))
        return builder.program(
            renamed[self.predicted], [replace(monitor, score=renamed[monitor.score])]
        )


def width(n: int) -> int:
    """Smallest w with n <= 2**w."""
    return (n - 1).bit_length() if n > 1 else 0


class Builder:
    """Builds a program and checks each node as it is added; equal nodes are shared."""

    def __init__(self, taps: Sequence[Tap], *, real: bool = False) -> None:
        if len({t.name for t in taps}) != len(taps):
            raise CompileError("two taps have the same name; name each tensor once")
        self.taps = tuple(taps)
        self.real = real
        self.nodes: list[Node] = []
        self._known: dict[tuple[Any, ...], int] = {}

    def value(self, index: int) -> Value:
        """Type of a value by its id."""
        if index < len(self.taps):
            tap = self.taps[index]
            return (
                Value(REAL, tap.length)
                if self.real
                else Value(tap.dtype, tap.length, TAP_BITS[tap.dtype])
            )
        return self.nodes[index - len(self.taps)].value

    def tap(self, name: str) -> int:
        """Value id of the tap with this tensor name."""
        return next(i for i, t in enumerate(self.taps) if t.name == name)

    def node(self, op: str, *inputs: int, tables: Sequence[Array] = ()) -> int:
        """Add a node, or find the equal one; returns its value id. Raises on a type error."""
        frozen = tuple(_frozen(t) for t in tables)
        key = (op, inputs, tuple((t.dtype.str, t.tobytes()) for t in frozen))
        if key in self._known:
            return self._known[key]
        context = Context(
            op, tuple(self.value(i) for i in inputs), frozen, self._argmax_over(inputs)
        )
        value = OPS[op].infer(context)
        self._check_bits(op, value)
        self.nodes.append(Node(op, inputs, frozen, value))
        self._known[key] = len(self.taps) + len(self.nodes) - 1
        return self._known[key]

    def copy(self, node: Node, inputs: tuple[int, ...]) -> int:
        """Add a node of another program with renamed inputs."""
        return self.node(node.op, *inputs, tables=node.tables)

    def program(self, predicted: int, monitors: Sequence[Monitor]) -> Program:
        """The finished program; checks monitors and the predicted class."""
        if predicted < len(self.taps) or self.nodes[predicted - len(self.taps)].op != "argmax":
            raise CompileError("the predicted class must come from an argmax node")
        for m in monitors:
            value = self.value(m.score)
            if m.score < len(self.taps) or value.length != 1:
                raise CompileError(f"monitor {m.name!r}: its score must be one number")
            if m.uncertain_above > m.alarm_above:
                raise CompileError(f"monitor {m.name!r}: uncertain_above exceeds alarm_above")
        return Program(self.taps, tuple(self.nodes), tuple(monitors), predicted)

    def _argmax_over(self, inputs: tuple[int, ...]) -> int:
        """Number of classes if the last input is an argmax node, else 0."""
        if not inputs or inputs[-1] < len(self.taps):
            return 0
        node = self.nodes[inputs[-1] - len(self.taps)]
        return self.value(node.inputs[0]).length if node.op == "argmax" else 0

    @staticmethod
    def _check_bits(op: str, value: Value) -> None:
        if value.bits > MAX_BITS.get(value.dtype, 0):
            raise CompileError(
                f"{op}: the result could reach 2^{value.bits}, more than {value.dtype} holds"
            )


def _frozen(table: Array) -> Array:
    table = np.ascontiguousarray(table)
    table.setflags(write=False)
    return table


# --- the ops' type rules (meaning: reference.py) ------------------------------------------------


@dataclass(frozen=True)
class Context:
    """What a type rule may look at."""

    op: str
    inputs: tuple[Value, ...]
    tables: tuple[Array, ...]
    argmax_over: int

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
    c.require(c.x.dtype == "int32", "needs an int32 vector")
    c.require(entries.dtype == np.int32 and 1 <= entries.size <= 65536, "bad entries")
    c.require(base.dtype == np.int32 and base.size == 1, "bad base")
    return Value("int32", c.x.length, width(int(np.abs(entries.astype(np.int64)).max())))


def _sum(c: Context) -> Value:
    if c.is_float(c.x):
        return Value(c.x.dtype, 1)
    c.require(c.x.dtype == "int32", "needs int32 or float")
    return Value("int64", 1, c.x.bits + width(c.x.length))


def _to_f32(c: Context) -> Value:
    (scale,) = c.tables
    c.require(c.is_int(c.x) or c.x.dtype == "int64", "needs integers")
    c.require(scale.dtype == np.float32 and scale.size == 1 and _positive(scale), "bad scale")
    return Value("float32", c.x.length)


def _unary(c: Context) -> Value:
    c.require(c.is_float(c.x), "needs floats")
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
    c.require(c.argmax_over == first.size - 1, "`first` must have one entry a class, and one more")
    c.require(lower.dtype == upper.dtype == np.dtype(c.x.dtype), "bounds must be of the tap's type")
    c.require(lower.size == upper.size == int(first[-1]) * c.x.length, "wrong number of bounds")
    c.require(first[0] == 0 and bool((np.diff(first.astype(np.int64)) >= 0).all()), "bad `first`")
    c.require(bool((lower <= upper).all()), "a lower bound exceeds its upper bound")
    c.require(weight.size == c.x.length and _positive(weight), "weights must be positive")
    if c.is_float(c.x):
        c.require(weight.dtype == np.dtype(c.x.dtype), "weights must be of the tap's type")
        return Value(REAL if real else "float32", 1)
    c.require(c.is_int(c.x) and weight.dtype == np.int32, "integer weights must be int32")
    bits = width(int(weight.max())) + (16 if c.x.dtype == "int16" else 8)
    c.require(bits <= 30, "weights are too large")
    return Value("int32", 1, 30)


def _trees(c: Context) -> Value:
    forest = Forest.unpack(c.tables, c.x.dtype)
    forest.check(c.x.length)
    if c.x.dtype == REAL:
        return Value(REAL, 1)
    return Value(
        "int32", 1, width(int(np.abs(forest.value).max(initial=0))) + width(len(forest.roots))
    )


def _omit(c: Context) -> Value:
    c.require(c.x.dtype == "int32" or c.is_float(c.x), "needs int32 or float")
    c.require(
        c.argmax_over == c.x.length, "the second input must be the argmax over as many classes"
    )
    return c.x


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
    "xexp": Op(0, _xexp),
}
