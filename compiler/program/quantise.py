"""From a real program to a device program: integer wherever the taps are integer.

A comparison of a real value ``s * (q - Z)`` with a threshold becomes a comparison of the code
``q`` with an integer, computed in rationals: floating point is wrong exactly where thresholds
lie on the grid, which is where trees and boxes put them (``docs/exactness.md``). On float32 taps
a float64 threshold is rounded toward the side that keeps every float32 comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.forest import LEAF_THRESHOLD, Forest
from edgemon.compiler.program.ir import Builder, Monitor, Node, Program
from edgemon.compiler.program.ops import MAX_BITS, width

Array = npt.NDArray[Any]

UNIT_BITS = 30  # 1.0 in a table of exponentials
LARGEST_WEIGHT = 1 << 14
NEVER: dict[str, float | int] = {
    "float32": float(np.finfo(np.float32).max),
    "int32": int(np.iinfo(np.int32).max),
    "int64": 1 << MAX_BITS["int64"],
}
EXACT_BITS = 24  # whole numbers that float32, and so ONNX's trees, hold exactly
WIDEST_AFFINE = 8  # bits of inputs whose weighted sums keep enough precision in int32
AFFINE_BITS = MAX_BITS["int32"] - 1  # of weighted sums, of which differences are taken
FEWEST_WEIGHT_BITS = 9  # with fewer, weighted sums are of floats


class Grid(Protocol):
    """Codes that stand for reals: ``real = scale * (code - zero_point)``."""

    @property
    def scale(self) -> float | Fraction: ...
    @property
    def zero_point(self) -> int: ...


def code_at_most(threshold: float, grid: Grid) -> int:
    """The largest code q with ``scale * (q - zero_point) <= threshold``; may lie outside the
    dtype's range, where the comparison is always or never true."""
    return floor(Fraction(threshold) / Fraction(grid.scale)) + grid.zero_point


def code_at_least(threshold: float, grid: Grid) -> int:
    """The smallest code q with ``scale * (q - zero_point) >= threshold``."""
    return ceil(Fraction(threshold) / Fraction(grid.scale)) + grid.zero_point


def f32_at_most(threshold: float) -> np.float32:
    """The largest float32 <= threshold: ``x <= threshold`` for every float32 x stays the same."""
    rounded = np.float32(threshold)
    if float(rounded) > threshold:
        rounded = np.nextafter(rounded, np.float32(-np.inf))
    return np.float32(rounded + np.float32(0))


def f32_at_least(threshold: float) -> np.float32:
    """The smallest float32 >= threshold."""
    return np.float32(-f32_at_most(-threshold) + np.float32(0))


@dataclass(frozen=True)
class Represented:
    """How a device value stands for a real one: ``real = scale * (device - zero_point)``. The
    scale is exact, so that comparisons are."""

    id: int
    scale: Fraction = Fraction(1)
    zero_point: int = 0

    def real(self, raw: Array) -> npt.NDArray[np.float64]:
        """The reals that raw device values stand for."""
        return np.asarray(float(self.scale) * (raw.astype(np.float64) - self.zero_point))


def quantise(real: Program) -> Program:
    """The device program of a real one. Monitors' thresholds are converted likewise: the strict
    comparison ``score > threshold`` of reals becomes one of raw scores."""
    return quantise_scores(real)[0]


def quantise_scores(real: Program) -> tuple[Program, tuple[Represented, ...]]:
    """The device program, and how each monitor's raw score stands for the real one."""
    pass_ = _Quantiser(real)
    for node in real.nodes:
        pass_.values.append(getattr(pass_, "_" + node.op)(node))
    monitors = [pass_.monitor(m) for m in real.monitors]
    program = pass_.out.program(pass_.values[real.predicted].id, monitors)
    return program, tuple(pass_.values[m.score] for m in real.monitors)


class _Quantiser:
    def __init__(self, real: Program) -> None:
        self.out = Builder(real.taps)
        self.values = [
            Represented(i, Fraction(t.scale), t.zero_point) for i, t in enumerate(real.taps)
        ]

    def monitor(self, m: Monitor) -> Monitor:
        score = self.values[m.score]

        def raw(threshold: float) -> float | int:
            if threshold == np.inf:  # a signal that never alarms by itself
                return NEVER[self.out.value(score.id).dtype]
            if self._is_float(score):
                return float(f32_at_most(threshold))
            return code_at_most(threshold, score)

        return Monitor(
            m.name,
            score.id,
            raw(float(m.alarm_above)),
            raw(float(m.uncertain_above)),
            m.display,
            m.display_scale * float(score.scale),
        )

    # Each method below turns one real node into device nodes.

    def _argmax(self, node: Node) -> Represented:
        return Represented(self.out.node("argmax", self._in(node).id))

    def _max(self, node: Node) -> Represented:
        x = self._in(node)
        return Represented(self.out.node("max", x.id), x.scale, x.zero_point)

    def _sub(self, node: Node) -> Represented:
        x, y = self._in(node), self._in(node, 1)
        if not self._is_float(x) and (x.scale, x.zero_point) == (y.scale, y.zero_point):
            return Represented(self.out.node("sub", x.id, y.id), x.scale)
        return self._floats("sub", node)

    def _exp(self, node: Node) -> Represented:
        return self._tabulated(node, np.exp) or self._floats("exp", node)

    def _lut(self, node: Node) -> Represented:
        x = self._in(node)
        if self._is_float(x) or x.scale != 1 or x.zero_point:
            raise CompileError("lut: a table is looked up by whole numbers only")
        return Represented(self.out.node("lut", x.id, tables=node.tables))

    def _xexp(self, node: Node) -> Represented:
        table = self._tabulated(node, lambda d: d * np.exp(d))
        if table:
            return table
        x = self._float(self._in(node))
        return Represented(self.out.node("mul", x, self.out.node("exp", x)))

    def _scale(self, node: Node) -> Represented:
        x, factor = self._in(node), node.tables[0]
        if not self._is_float(x):  # another scale stands for other reals: no device node
            return Represented(x.id, x.scale * Fraction(float(factor[0])), x.zero_point)
        tables = [factor.astype(np.float32), np.zeros(1, np.int32)]
        return Represented(self.out.node("to_f32", x.id, tables=tables))

    def _omit(self, node: Node) -> Represented:
        x, y = self._in(node), self._in(node, 1)
        return Represented(self.out.node("omit", x.id, y.id), x.scale, x.zero_point)

    def _sum(self, node: Node) -> Represented:
        x = self._in(node)
        if not self._is_float(x) and x.zero_point == 0:
            return Represented(self.out.node("sum", x.id), x.scale)
        return self._floats("sum", node)

    def _add(self, node: Node) -> Represented:
        x, y = self._in(node), self._in(node, 1)
        if not self._is_float(x) and not self._is_float(y) and x.scale == y.scale:
            return Represented(
                self.out.node("add", x.id, y.id), x.scale, x.zero_point + y.zero_point
            )
        return self._floats("add", node)

    def _log(self, node: Node) -> Represented:
        return self._floats("log", node)

    def _mul(self, node: Node) -> Represented:
        return self._floats("mul", node)

    def _div(self, node: Node) -> Represented:
        return self._floats("div", node)

    def _boxes(self, node: Node) -> Represented:
        x, y = self._in(node), self._in(node, 1)
        lower, upper, weight, first = node.tables
        length = self.out.value(x.id).length
        lower, upper = lower.reshape(-1, length), upper.reshape(-1, length)
        floats = np.maximum(weight.astype(np.float32), np.finfo(np.float32).tiny)
        weights: Array
        if self._is_float(x):
            at_least = _each(lower, f32_at_least, np.float32)
            at_most = _each(upper, f32_at_most, np.float32)
            kept, weights, scale, id_ = at_least <= at_most, floats, Fraction(1), x.id
        else:
            at_least = _each(lower, lambda v: code_at_least(v, x), np.int64)
            at_most = _each(upper, lambda v: code_at_most(v, x), np.int64)
            dtype = self.out.value(x.id).dtype
            if dtype != "int32":
                info = np.iinfo(dtype)
                at_least, at_most = np.maximum(at_least, info.min), np.minimum(at_most, info.max)
            kept = at_least <= at_most
            if dtype == "int32":  # too wide for integer weights
                # Bounds become floats as the values do, so that every comparison stays.
                at_least, at_most = self._as_floats(at_least, x), self._as_floats(at_most, x)
                weights, scale, id_ = floats, Fraction(1), self._float(x)
            else:
                unit = LARGEST_WEIGHT / float(weight.max())
                weights = np.maximum(np.rint(weight * unit), 1).astype(np.int32)
                scale, id_ = x.scale / Fraction(unit), x.id
        # A box between two neighbouring codes holds no code at all: it can never be entered.
        rows = kept.all(axis=1)
        starts = np.concatenate([[0], np.cumsum(rows)])[first.astype(int)].astype(np.uint32)
        kind = self.out.value(id_).dtype
        bounds = (at_least[rows].astype(kind), at_most[rows].astype(kind))
        tables = [t.ravel() for t in (*bounds, weights, starts)]
        return Represented(self.out.node("boxes", id_, y.id, tables=tables), scale)

    def _trees(self, node: Node) -> Represented:
        x = self._in(node)
        value = self.out.value(x.id)
        if value.bits > EXACT_BITS or value.dtype == "int64":
            x = Represented(self._float(x))
        forest = Forest.unpack(node.tables, "float64")
        inner = ~forest.is_leaf
        dtype = self.out.value(x.id).dtype
        if self._is_float(x):
            threshold: Array = np.full(inner.size, LEAF_THRESHOLD["float32"], np.float32)
            threshold[inner] = [f32_at_most(t) for t in forest.threshold[inner]]
        else:
            # One code beyond either end of a tap's dtype says "never" or "always".
            low = max(np.iinfo(dtype).min - 1, np.iinfo(np.int32).min)
            high = np.iinfo(dtype).max
            threshold = np.full(inner.size, LEAF_THRESHOLD["integer"], np.int64)
            threshold[inner] = [
                min(max(code_at_most(t, x), low), high) for t in forest.threshold[inner]
            ]
        if (forest.value != np.rint(forest.value)).any():
            raise CompileError("trees: leaf values must be whole numbers")
        device = Forest(
            forest.feature,
            threshold,
            forest.left,
            forest.value.astype(np.int64),
            forest.roots,
            forest.depths,
        )
        return Represented(self.out.node("trees", x.id, tables=device.pack(dtype)))

    def _exceeds(self, node: Node) -> Represented:
        x = self._in(node)
        threshold = float(node.tables[0][0])
        if self._is_float(x):
            table: Array = np.array([f32_at_most(threshold)], np.float32)
        else:
            low, high = np.iinfo(np.int32).min, np.iinfo(np.int32).max
            table = np.array([min(max(code_at_most(threshold, x), low), high)], np.int32)
        return Represented(self.out.node("exceeds", x.id, tables=[table]))

    def _gather(self, node: Node) -> Represented:
        x = self._in(node)
        index = node.tables[0].astype(np.uint32)
        return Represented(self.out.node("gather", x.id, tables=[index]), x.scale, x.zero_point)

    def _reduce(self, node: Node) -> Represented:
        x = self._in(node)
        channels = node.tables[0].astype(np.uint32)
        positions = self.out.value(x.id).length // int(channels[0])
        id_ = self.out.node("reduce", x.id, tables=[channels])
        if self._is_float(x):
            return Represented(id_)
        return Represented(id_, x.scale / positions, x.zero_point * positions)

    def _affine(self, node: Node) -> Represented:
        x = self._in(node)
        weight, bias = node.tables
        value = self.out.value(x.id)
        room = AFFINE_BITS - 1 - value.bits - width(value.length)  # bits of a weight
        if not self._is_float(x) and value.bits <= WIDEST_AFFINE and room >= FEWEST_WEIGHT_BITS:
            return self._whole_affine(x, weight, bias, room)
        plus_zero = bias.astype(np.float32) + np.float32(0)  # no -0, which sums would keep
        tables = [weight.astype(np.float32), plus_zero]
        return Represented(self.out.node("affine", self._float(x), tables=tables))

    def _whole_affine(self, x: Represented, weight: Array, bias: Array, room: int) -> Represented:
        """One scale for all results: as fine as 16-bit weights and ``AFFINE_BITS`` allow, of which
        the zero point takes its part: the bias holds the sum of the weights times that."""
        most = min(1 << room, int(np.iinfo(np.int16).max))
        largest = 1 << (AFFINE_BITS - 1)
        finest = float(np.abs(weight).max()) * float(x.scale) / most
        scale = Fraction(max(finest, float(np.abs(bias).max()) / (largest >> 1), 1e-30))
        while True:
            codes = np.rint(weight * float(x.scale / scale)).astype(np.int16)
            offset = codes.reshape(bias.size, -1).astype(np.int64).sum(axis=1) * x.zero_point
            shifted = np.rint(bias / float(scale)).astype(np.int64) - offset
            if np.abs(shifted).max() <= largest:
                break
            scale *= 2
        return Represented(
            self.out.node("affine", x.id, tables=[codes, shifted.astype(np.int32)]), scale
        )

    def _select(self, node: Node) -> Represented:
        x, y = self._in(node), self._in(node, 1)
        return Represented(self.out.node("select", x.id, y.id), x.scale, x.zero_point)

    def _tables(self, node: Node) -> Represented:
        origin, rate, shape, entries = node.tables
        tables = [origin.astype(np.float32), rate.astype(np.float32), shape, entries]
        return Represented(self.out.node("tables", self._float(self._in(node)), tables=tables))

    def _kernels(self, node: Node) -> Represented:
        shape, centres, scale, weight = node.tables
        tables = [shape, centres, scale.astype(np.float32), weight.astype(np.float32)]
        return Represented(self.out.node("kernels", self._float(self._in(node)), tables=tables))

    def _distances(self, node: Node) -> Represented:
        tables = [node.tables[0].astype(np.float32)]
        return Represented(self.out.node("distances", self._float(self._in(node)), tables=tables))

    def _logsumexp(self, node: Node) -> Represented:
        return Represented(
            self.out.node("logsumexp", self._float(self._in(node)), tables=node.tables)
        )

    def _concat(self, node: Node) -> Represented:
        x, y = self._in(node), self._in(node, 1)
        kinds = {self.out.value(v.id).dtype for v in (x, y)}
        alike = (x.scale, x.zero_point) == (y.scale, y.zero_point)
        if alike and not kinds & {"float32", "int64"}:
            return Represented(self.out.node("concat", x.id, y.id), x.scale, x.zero_point)
        return self._floats("concat", node)

    def _hamming(self, node: Node) -> Represented:
        x, y = self._in(node), self._in(node, 1)
        threshold, *patterns = node.tables
        if self.out.value(x.id).dtype == "int64":
            x = Represented(self._float(x))
        if self._is_float(x):
            table: Array = _each(threshold, f32_at_most, np.float32)
        else:
            info = np.iinfo(np.int32)
            codes = _each(threshold, lambda v: code_at_most(v, x), np.int64)
            table = np.clip(codes, info.min, info.max).astype(np.int32)
        return Represented(self.out.node("hamming", x.id, y.id, tables=[table, *patterns]))

    def _clip(self, node: Node) -> Represented:
        x, upper = self._in(node), float(node.tables[0][0])
        if self.out.value(x.id).dtype == "int64":
            x = Represented(self._float(x))
        if self._is_float(x):
            table: Array = np.array([f32_at_most(upper)], np.float32)
        else:  # to the grid, at or below the bound
            most = (1 << self.out.value(x.id).bits) - 1
            table = np.array([min(max(code_at_most(upper, x), -most), most)], np.int32)
        return Represented(self.out.node("clip", x.id, tables=[table]), x.scale, x.zero_point)

    # Helpers.

    def _in(self, node: Node, index: int = 0) -> Represented:
        return self.values[node.inputs[index]]

    def _is_float(self, x: Represented) -> bool:
        return self.out.value(x.id).dtype == "float32"

    def _float(self, x: Represented) -> int:
        """Id of the float32 form of a value."""
        if self._is_float(x):
            return x.id
        tables = [np.array([float(x.scale)], np.float32), np.array([x.zero_point], np.int32)]
        return self.out.node("to_f32", x.id, tables=tables)

    @staticmethod
    def _as_floats(codes: Array, x: Represented) -> Array:
        """What ``to_f32`` makes of codes of x."""
        return (codes - x.zero_point).astype(np.float32) * np.float32(float(x.scale))

    def _floats(self, op: str, node: Node) -> Represented:
        return Represented(self.out.node(op, *(self._float(self.values[i]) for i in node.inputs)))

    def _tabulated(self, node: Node, function: Any) -> Represented | None:
        """A function of a non-positive integer value as a table of fixed-point numbers, if the
        value has few enough codes."""
        x = self._in(node)
        value = self.out.value(x.id)
        if self._is_float(x) or value.bits > 9:
            return None
        codes = np.arange(-(1 << value.bits), 1)
        entries = np.rint(function(codes * float(x.scale)) * 2.0**UNIT_BITS).astype(np.int32)
        # Codes whose entry equals that of the lowest code need no entry of their own.
        start = int(np.argmax(entries != entries[0])) - 1 if (entries != entries[0]).any() else 0
        start = max(start, 0)
        return Represented(
            self.out.node(
                "lut", x.id, tables=[entries[start:], np.array([codes[start]], np.int32)]
            ),
            Fraction(1, 1 << UNIT_BITS),
        )


def _each(values: Array, convert: Any, dtype: Any) -> Array:
    """Apply a scalar conversion to each distinct element."""
    distinct, inverse = np.unique(values, return_inverse=True)
    converted = np.array([convert(float(v)) for v in distinct], dtype)
    return converted[inverse.reshape(values.shape)]
