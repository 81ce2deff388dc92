"""Ops on the channels of a feature map, whose positions stand one behind the other."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from edgemon.compiler.program.grids import Array, Represented
from edgemon.compiler.program.ops.op import (
    BYTES,
    F32,
    MAX_BITS,
    REAL,
    Context,
    Op,
    Parts,
    Value,
    wide,
)
from edgemon.compiler.program.ops.sums import float_sums, halving_sum
from edgemon.compiler.program.ops.tables import width
from edgemon.compiler.program.ops.transcendental import exp_f32, log_f32, onnx_exp, onnx_log

if TYPE_CHECKING:
    from edgemon.compiler.program.ir import Node
    from edgemon.compiler.program.onnx_graph import OnnxGraph
    from edgemon.compiler.program.quantise import Quantiser

NARROW = (*BYTES, "int16")
LANES, HALF = 32, 16  # channels of bytes side by side, and of what is left (em_family_maps.c)
MOST_BYTES = 1 << 15  # whose squares add up to what int32 holds
SQUARE_STEPS = 3  # a square and a sum of two widths, where ``reduce`` has a sum
ROOT_ROWS = 4  # of a block, or of a bit of one channel: roots, in starts of a loop


def _shape(table: Array, length: int) -> tuple[int, int, int]:
    """Groups, positions in each, and channels."""
    channels = int(table[0])
    positions = int(table[1]) if table.size > 1 else length // channels
    return length // (positions * channels), positions, channels


def _side_by_side(channels: int) -> tuple[int, int]:
    """In how many blocks, and how many channels, are looked at side by side?"""
    return channels // LANES + channels % LANES // HALF, channels - channels % HALF


class _OfChannels(Op):
    most_entries = 1  # of the table

    def infer(self, c: Context) -> Value:
        table = c.tables[0]
        c.require(1 <= table.size <= self.most_entries, "wrong number of entries")
        group = math.prod(map(int, table))
        c.require(group >= 1 and c.x.length % group == 0, "channels must divide the length")
        c.needs_numbers()
        groups, positions, channels = _shape(table, c.x.length)
        if c.x.is_float:
            return Value(c.x.dtype, groups * channels)
        return Value("int32", groups * channels, self.bits(c, width(positions)))

    def bits(self, c: Context, positions: int) -> int:
        """Of integers, over 2^``positions`` positions or fewer."""
        raise NotImplementedError


def _means(parts: Array) -> Array:
    """(n, channels) of (n, positions, channels) floats."""
    n, positions, channels = parts.shape
    flat = parts.transpose(0, 2, 1).reshape(-1, positions)
    mean: Array = halving_sum(flat).reshape(n, channels) * parts.dtype.type(1 / positions)
    return mean


def _onnx_means(e: OnnxGraph, x: str, positions: int) -> str:
    """(n, channels, 1) of (n, channels, positions)."""
    return e.op("Mul", e.halving_sum(x, positions, 2), e.constant(F32(1 / positions)))


class Reduce(_OfChannels):
    """Sum of each channel over the positions of a feature map, or over each group of so many
    positions; of floats the mean."""

    most_entries = 2

    def bits(self, c: Context, positions: int) -> int:
        return c.x.bits + positions

    def evaluate(self, node: Node, x: Array) -> Array:
        groups, positions, channels = _shape(node.tables[0], x.shape[1])
        parts = x.reshape(-1, positions, channels)
        sums = _means(wide(parts)) if x.dtype.kind == "f" else parts.sum(axis=1, dtype=np.int32)
        return np.asarray(sums.reshape(len(x), groups * channels))

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        (x,) = q.inputs(node)
        _, positions, _ = _shape(node.tables[0], q.type_of(x).length)
        id_ = q.node("reduce", x, tables=node.tables)
        if q.is_float(x):
            return Represented(id_)
        return Represented(id_, x.scale / positions, x.zero_point * positions)

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        groups, positions, channels = _shape(node.tables[0], e.program.value(node.inputs[0]).length)
        parts = e.shaped(x, 0, groups, positions, channels)
        if node.value.dtype == "int32":
            sums = e.reduce("ReduceSum", parts, 2, keep=False)
        else:
            turned = e.shaped(e.op("Transpose", parts, perm=[0, 1, 3, 2]), 0, -1, positions)
            sums = _onnx_means(e, turned, positions)
        return e.shaped(sums, 0, groups * channels)

    def parts(self, node: Node, x: Value) -> Parts:
        groups, positions, channels = _shape(node.tables[0], x.length)
        if x.is_float:
            return float_sums("reduce_float", groups * channels, positions)
        blocks, lanes = _side_by_side(channels) if x.dtype in NARROW else (0, 0)
        return {
            "row": groups * (blocks + channels - lanes),
            "reduce_int": groups * lanes * positions * (1 if x.dtype in BYTES else 2),
            "reduce_scalar": groups * (channels - lanes) * positions,
        }


class Deviation(_OfChannels):
    """Standard deviation of each channel over the positions of a feature map; of integers in half
    codes, rounded down."""

    def bits(self, c: Context, positions: int) -> int:
        sums = c.x.bits + positions + 1
        c.require(2 * sums <= MAX_BITS["int64"], "sums of squares need more than 62 bits")
        return c.x.bits + 1

    def evaluate(self, node: Node, x: Array) -> Array:
        channels = int(node.tables[0][0])
        if x.dtype.kind != "f":
            return _root_of_quarters(x.reshape(len(x), -1, channels)).astype(np.int32)
        parts = wide(x).reshape(len(x), -1, channels)
        above = parts - _means(parts)[:, None, :]
        variance = _means(above * above)
        if x.dtype == REAL:
            return np.sqrt(variance)
        return exp_f32(F32(0.5) * log_f32(variance))

    def quantise(self, q: Quantiser, node: Node) -> Represented:
        (x,) = q.inputs(node)
        id_ = q.node("deviation", x, tables=node.tables)
        return Represented(id_) if q.is_float(x) else Represented(id_, x.scale / 2)

    def onnx(self, e: OnnxGraph, node: Node, x: str) -> str:
        channels = int(node.tables[0][0])
        positions = e.program.value(node.inputs[0]).length // channels
        parts = e.op("Transpose", e.shaped(x, 0, positions, channels), perm=[0, 2, 1])
        if node.value.dtype != "int32":
            above = e.op("Sub", parts, _onnx_means(e, parts, positions))
            variance = _onnx_means(e, e.op("Mul", above, above), positions)
            return _onnx_root(e, e.shaped(variance, 0, channels))
        return _onnx_root_of_quarters(e, e.cast(parts, np.int64), positions)

    def parts(self, node: Node, x: Value) -> Parts:
        channels = node.value.length
        positions = x.length // channels
        if x.is_float:
            sums = float_sums("reduce_float", channels, positions)
            both = {part: SQUARE_STEPS * count for part, count in sums.items()}
            return {**both, "exp": channels, "log": channels}
        blocks, lanes = _side_by_side(channels) if x.dtype in BYTES else (0, 0)
        alone = channels - lanes
        return {
            "row": blocks * ROOT_ROWS + alone * ROOT_ROWS * (x.bits + 1),
            "reduce_int": lanes * positions * SQUARE_STEPS,
            "reduce_scalar": alone * positions * 2,
        }


def _onnx_root(e: OnnxGraph, variance: str) -> str:
    """exp(log(variance) / 2); what is no number, or infinite, stays, for ``exp`` has no place."""
    known = e.op("Less", variance, e.constant(F32(np.inf)))
    log_of = onnx_log(e, e.op("Where", known, variance, e.constant(F32(0))))
    return e.op("Where", known, onnx_exp(e, e.op("Mul", e.constant(F32(0.5)), log_of)), variance)


def _root_of_quarters(x: Array) -> Array:
    """floor(sqrt(floor(4 * variance))) over the positions of x (n, positions, channels)."""
    n = x.shape[1]
    short = x.dtype.itemsize == 1 and n <= MOST_BYTES
    x = x.astype(np.int32 if short else np.int64)
    squares = np.einsum("npc,npc->nc", x, x).astype(np.int64)  # without a copy of them all
    quarters = 4 * (n * squares - np.square(x.sum(axis=1, dtype=np.int64))) // (n * n)
    root = np.floor(np.sqrt(quarters.astype(np.float64))).astype(np.int64)
    root -= root * root > quarters  # the root of 62 bits may have been rounded up or down
    root += (root + 1) * (root + 1) <= quarters
    return np.asarray(root)


def _onnx_root_of_quarters(e: OnnxGraph, x: str, positions: int) -> str:
    """The same of (n, channels, positions), as int32."""
    n = e.constant(positions, np.int64)
    squares = e.op("Mul", n, e.reduce("ReduceSum", e.op("Mul", x, x), 2, keep=False))
    total = e.reduce("ReduceSum", x, 2, keep=False)
    apart = e.op("Sub", squares, e.op("Mul", total, total))
    quarters = e.op("Div", e.op("Mul", e.constant(4, np.int64), apart), e.op("Mul", n, n))
    root = e.cast(e.op("Floor", e.op("Sqrt", e.cast(quarters, np.float64))), np.int64)
    above = e.op("Greater", e.op("Mul", root, root), quarters)
    root = e.op("Sub", root, e.cast(above, np.int64))
    next_ = e.op("Add", root, e.constant(1, np.int64))
    reached = e.op("LessOrEqual", e.op("Mul", next_, next_), quarters)
    return e.cast(e.op("Add", root, e.cast(reached, np.int64)), np.int32)


OPS = (
    Reduce("reduce", 17, 1, {"channels": "uint32"}),
    Deviation("deviation", 30, 1, {"channels": "uint32"}),
)
