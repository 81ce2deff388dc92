"""A classifier as a graph of operators over tensors, whatever file it came from."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from edgemon.runtime.preprocess import long_axes
from edgemon.runtime.views import PLAIN, split

if TYPE_CHECKING:
    from edgemon.compiler.models.model import CompanionFile


@dataclass(frozen=True)
class Tensor:
    """``name`` is unique in its graph. ``scale`` is 0 where the tensor is not quantised;
    ``shape`` has -1 where the file leaves a length open, other than the batch. ``view``: "plain",
    or another in which the tensor is wanted (``ir.Tap``), and ``companion`` the model that it takes
    for that. In the view *companion* it is an output of that model, with its position as index."""

    index: int
    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float = 0.0
    zero_point: int = 0
    per_channel: bool = False
    constant: bool = False
    variable: bool = False
    view: str = PLAIN
    companion: CompanionFile | None = field(default=None, compare=False)

    @property
    def length(self) -> int:
        """Number of elements of one image."""
        return math.prod(self.shape)

    @property
    def long_axes(self) -> tuple[int, ...]:
        """The shape without its axes of length 1."""
        return long_axes(self.shape)

    @property
    def has_positions(self) -> bool:
        """Is it an image or a feature map, that is values at several places?"""
        return len(self.shape) >= 3 and len(self.long_axes) >= 2


@dataclass(frozen=True)
class Operator:
    """``inputs`` has -1 where an optional input is absent. ``activation``: "none", "relu", ..."""

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    activation: str = "none"


@dataclass(frozen=True)
class Graph:
    """Tensors are addressed by index; ``operators`` are in the order of execution.

    ``channel_axis``: where images have their channels, the last axis (TFLite) or 1 (ONNX).
    """

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensors: tuple[Tensor, ...]
    operators: tuple[Operator, ...]
    channel_axis: int = -1

    def producer(self, index: int) -> Operator | None:
        """The operator that computes the tensor."""
        return self._producers.get(index)

    def consumers(self, index: int) -> tuple[Operator, ...]:
        """The operators that read the tensor."""
        return tuple(op for op in self.operators if index in op.inputs)

    def data_input(self, operator: Operator) -> int | None:
        """The operator's first input that is neither absent nor constant."""
        return next((i for i in operator.inputs if i >= 0 and not self.tensors[i].constant), None)

    @cached_property
    def _producers(self) -> dict[int, Operator]:
        return {index: op for op in self.operators for index in op.outputs}


def mark_constants(graph: Graph) -> Graph:
    """The same graph, with tensors that are computed from constants alone marked as such."""
    constant = {t.index for t in graph.tensors if t.constant}
    for op in graph.operators:
        known = [i in constant for i in op.inputs if i >= 0]
        if known and all(known):
            constant.update(op.outputs)
    tensors = (replace(t, constant=t.index in constant) for t in graph.tensors)
    return replace(graph, tensors=tuple(tensors))


class UnsupportedError(Exception):
    """A sound file with something that edgemon cannot handle; the text ends a sentence."""


def usable_names(found: Sequence[str]) -> list[str]:
    """Names as monitors can store them: printable ASCII, at most 200 characters, all different, and
    none that says a view."""
    plain = ["".join(c if " " <= c <= "~" else "_" for c in name)[:200] for name in found]
    times = Counter(plain)
    names: list[str] = []
    taken = {name for name, n in times.items() if n == 1 and name}
    for index, name in enumerate(plain):
        if not name or times[name] > 1 or split(name)[1] != PLAIN:
            name = f"{name or 'tensor'}#{index}"
            while name in taken:
                name += "_"
            taken.add(name)
        names.append(name)
    return names
