"""From a real program to a device program: integer wherever the taps are integer.

How each op turns is ``Op.quantise``; how thresholds become codes: ``grids``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from edgemon.compiler.program.grids import Array, Represented, code_at_most, each, f32_at_most
from edgemon.compiler.program.ir import Builder, Monitor, Node, Program
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.program.ops.op import MAX_BITS, Value
from edgemon.compiler.program.ops.tables import type_of

LOW, HIGH = -(1 << 31), (1 << 31) - 1  # of int32
NEVER: dict[str, float | int] = {
    "float32": float(np.finfo(np.float32).max),
    "int32": HIGH,
    "int64": 1 << MAX_BITS["int64"],
}


def quantise(real: Program, *, early_exit: bool = False) -> Program:
    """The device program of a real one. Monitors' thresholds are converted likewise: the strict
    comparison ``score > threshold`` of reals becomes one of raw scores."""
    program = quantise_scores(real)[0]
    return early(program) if early_exit else program


def early(program: Program) -> Program:
    """A device program with the same results whose walks through trees end at their leaves."""
    nodes = [replace(n, op="early_trees") if n.op == "trees" else n for n in program.nodes]
    return replace(program, nodes=type(program.nodes)(nodes))


def quantise_scores(real: Program) -> tuple[Program, tuple[Represented, ...]]:
    """The device program, and how each monitor's raw score stands for the real one."""
    q = Quantiser(real)
    for node in real.nodes:
        q.values.append(OPS[node.op].quantise(q, node))
    monitors = [q.monitor(m) for m in real.monitors]
    program = q.out.program(q.values[real.predicted].id, monitors)
    return program, tuple(q.values[m.score] for m in real.monitors)


class Quantiser:
    """A device program in the making, beside the real one that it comes from."""

    def __init__(self, real: Program) -> None:
        self.out = Builder(real.taps)
        self.values = [  # of the real program, by id
            Represented(i, Fraction(t.scale), t.zero_point) for i, t in enumerate(real.taps)
        ]

    def inputs(self, node: Node) -> tuple[Represented, ...]:
        """What a real node's inputs have become."""
        return tuple(self.values[i] for i in node.inputs)

    def node(self, op: str, *inputs: Represented, tables: Sequence[Array] = ()) -> int:
        """Adds a device node, with the tables in the op's types; returns its value id."""
        x, kinds = self.type_of(inputs[0]).dtype, OPS[op].tables.values()
        typed = [t.astype(type_of(k, x)) for t, k in zip(tables, kinds, strict=True)]
        return self.out.node(op, *(v.id for v in inputs), tables=typed)

    def type_of(self, x: Represented) -> Value:
        return self.out.value(x.id)

    def is_float(self, x: Represented) -> bool:
        return self.type_of(x).is_float

    def floats(self, x: Represented) -> Represented:
        """The float32 form of a value."""
        if self.is_float(x):
            return Represented(x.id)
        tables = [np.array([float(x.scale)]), np.array([x.zero_point])]
        return Represented(self.node("to_f32", x, tables=tables))

    def no_int64(self, x: Represented) -> Represented:
        """The value, or of an int64, which most ops do not read, its float32 form."""
        return self.floats(x) if self.type_of(x).dtype == "int64" else x

    def at_most(self, reals: Array, x: Represented, low: int = LOW, high: int = HIGH) -> Array:
        """The largest values of x at or below reals: floats, or codes within low and high and what
        an int32 holds."""
        if self.is_float(x):
            return each(reals, f32_at_most, np.float32)
        low = max(low, LOW)
        return each(reals, lambda v: min(max(code_at_most(v, x), low), high), np.int64)

    def monitor(self, m: Monitor) -> Monitor:
        """The decision rule on raw scores."""
        score = self.values[m.score]

        def raw(threshold: float) -> float | int:
            if threshold == np.inf:  # a signal that never alarms by itself
                return NEVER[self.type_of(score).dtype]
            if self.is_float(score):
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
