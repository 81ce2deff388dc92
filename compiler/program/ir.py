"""The program: what every monitor lowers to, and the only thing that the emitters know.

A program is a list of nodes in static single assignment over *taps* (tensors of the classifier).
Value ids: 0 .. len(taps)-1 are the taps, then one value a node. Each value is a vector.

There are two levels, with the same classes:

* a *real* program, as monitors write it: values are reals (``float64``) and thresholds are as
  fitted; it reads dequantised taps;
* a *device* program, as ``quantise`` makes it: integer wherever the taps are integer,
  float32 elsewhere; this is what is emitted, proven and run.

Types and shapes are checked while a program is built (``Op.infer``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.program.ops.op import (
    MAX_BITS,
    MAX_LENGTH,
    MAX_MONITORS,
    REAL,
    TAP_BITS,
    Context,
    Value,
)
from edgemon.runtime.views import NEED_COMPANION, PLAIN, SECOND, named

MEAN, DEVIATION = "mean", "deviation"  # of the channels of a feature map, over its positions

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Tap:
    """A tensor that monitors read, flattened; real value = scale * (code - zero_point).

    ``view``: of which inference, "plain" or another of ``runtime.views``. ``channels``: of a
    feature map the number of its channels, which lie on its last axis unless ``channels_first``,
    and ``map_rows`` those of its rows, whose positions lie one behind the other; 0 for a vector.
    ``means_of``: the tensor of the map of which a vector has the channels' means, "" for none.
    Monitors lower by them; an artifact does not hold them. ``decides_above``: of a
    model's only output unit, the real value above which it means class 1. ``probabilities``: are
    they those of the classes, and no logits?
    """

    tensor: str  # its name in the model
    dtype: str  # "int8", "uint8", "int16" or "float32"
    length: int
    scale: float = 1.0
    zero_point: int = 0
    view: str = PLAIN
    channels: int = field(default=0, compare=False)
    channels_first: bool = field(default=False, compare=False)
    map_rows: int = field(default=0, compare=False)
    means_of: str = field(default="", compare=False)
    decides_above: float = field(default=0.5, compare=False)
    probabilities: bool = field(default=False, compare=False)

    @property
    def name(self) -> str:
        """What users and monitors call it."""
        return named(self.tensor, self.view)

    @property
    def step(self) -> float:
        """How far apart its values are; 0 of floats."""
        return 0.0 if self.dtype == "float32" else self.scale

    @property
    def width(self) -> int:
        """Number of features: the elements of a vector, the channels of a feature map."""
        return self.channels or self.length

    def values(self, codes: Array) -> npt.NDArray[np.float64]:
        """Real values of an array of codes, exact for the float32 scale times a small integer."""
        if self.dtype == "float32":
            return codes.astype(np.float64)
        return self.scale * (codes.astype(np.float64) - self.zero_point)


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
    predicted: int  # value id of a class node: argmax or exceeds

    def value(self, index: int) -> Value:
        """Type of a value by its id."""
        if index < len(self.taps):
            tap = self.taps[index]
            return Value(tap.dtype, tap.length, TAP_BITS[tap.dtype])
        return self.nodes[index - len(self.taps)].value

    @property
    def second_inference(self) -> bool:
        """Does it need the model's answer to another input for each image?"""
        return self.second_inferences > 0

    @property
    def second_inferences(self) -> int:
        """To how many other inputs."""
        return len({tap.view for tap in self.taps}.intersection(SECOND))

    @property
    def companions(self) -> tuple[str, ...]:
        """The views that need a companion model, in their order."""
        return tuple(v for v in NEED_COMPANION if any(tap.view == v for tap in self.taps))

    def with_monitors(self, monitors: Sequence[Monitor]) -> Program:
        """The same nodes under other decision rules."""
        return replace(self, monitors=tuple(monitors))

    def only(self, name: str) -> Program:
        """The program of one monitor alone: nodes and taps that it does not use are gone."""
        return self.with_monitors([m for m in self.monitors if m.name == name]).trimmed()

    def trimmed(self) -> Program:
        """Without the nodes and taps that neither a monitor nor the predicted class uses."""
        first = len(self.taps)
        used = {m.score for m in self.monitors} | {self.predicted}
        for index in range(first + len(self.nodes) - 1, first - 1, -1):
            if index in used:
                used.update(self.nodes[index - first].inputs)
        builder = Builder([t for i, t in enumerate(self.taps) if i in used])
        renamed = {old: new for new, old in enumerate(i for i in range(first) if i in used)}
        for index in sorted(i for i in used if i >= first):
            node = self.nodes[index - first]
            inputs = (renamed[i] for i in node.inputs)
            renamed[index] = builder.node(node.op, *inputs, tables=node.tables)
        return builder.program(
            renamed[self.predicted],
            [replace(m, score=renamed[m.score]) for m in self.monitors],
        )


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

    def features(self, name: str, statistic: str = MEAN, bands: int = 1) -> int:
        """Value id of the tap's features, (bands * width,): its elements, or of a feature map a
        statistic of each channel, ``DEVIATION``, or ``MEAN`` in each of so many bands of rows
        (which divide the rows). Same as ``Recording.features``."""
        id_ = self.tap(name)
        tap = self.taps[id_]
        if not tap.channels:
            return id_
        if tap.channels_first and statistic == MEAN and bands == 1:
            positions = tap.length // tap.channels  # of a channel, which lie side by side
            return self.node("reduce", id_, tables=[np.array([1, positions], np.uint32)])
        if tap.channels_first:
            last = np.arange(tap.length, dtype=np.uint32).reshape(tap.channels, -1).T.ravel()
            id_ = self.node("gather", id_, tables=[last])
        op = {MEAN: "reduce", DEVIATION: "deviation"}[statistic]
        of_band = [tap.length // tap.channels // bands] if bands > 1 else []
        return self.node(op, id_, tables=[np.array([tap.channels, *of_band], np.uint32)])

    def node(self, op: str, *inputs: int, tables: Sequence[Array] = ()) -> int:
        """Add a node, or find the equal one; returns its value id. Raises on a type error."""
        frozen = tuple(_frozen(t) for t in tables)
        key = (op, inputs, tuple((t.dtype.str, t.tobytes()) for t in frozen))
        if key in self._known:
            return self._known[key]
        context = Context(
            op,
            tuple(self.value(i) for i in inputs),
            frozen,
            self._classes_of(inputs),
            self.is_argmax(inputs[-1]),
        )
        OPS[op].check_tables(context, real=self.real)
        value = OPS[op].infer(context)
        if not 1 <= value.length <= MAX_LENGTH:
            raise CompileError(f"{op}: a result of {value.length} elements; 1 to 2^20 are possible")
        self._check_bits(op, value)
        self.nodes.append(Node(op, inputs, frozen, value))
        self._known[key] = len(self.taps) + len(self.nodes) - 1
        return self._known[key]

    def program(self, predicted: int, monitors: Sequence[Monitor]) -> Program:
        """The finished program; checks monitors and the predicted class."""
        if not self._classes_of((predicted,)):
            raise CompileError("the predicted class must come from an argmax or exceeds node")
        if len(monitors) > MAX_MONITORS:
            raise CompileError(
                f"{len(monitors)} monitors, signals of fusions included, but an artifact holds "
                f"{MAX_MONITORS}; choose fewer (--monitor)"
            )
        for m in monitors:
            value = self.value(m.score)
            if m.score < len(self.taps) or value.length != 1:
                raise CompileError(f"monitor {m.name!r}: its score must be one number")
            if m.uncertain_above > m.alarm_above:
                raise CompileError(f"monitor {m.name!r}: uncertain_above exceeds alarm_above")
        return Program(self.taps, tuple(self.nodes), tuple(monitors), predicted)

    def is_argmax(self, index: int) -> bool:
        """Is this value the index of a largest element (and not whether one exceeds a bound)?"""
        return index >= len(self.taps) and self.nodes[index - len(self.taps)].op == "argmax"

    def _classes_of(self, inputs: tuple[int, ...]) -> int:
        """Number of classes if the last input is a class node, else 0."""
        if not inputs or inputs[-1] < len(self.taps):
            return 0
        node = self.nodes[inputs[-1] - len(self.taps)]
        return OPS[node.op].classes(self.value(node.inputs[0]))

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
