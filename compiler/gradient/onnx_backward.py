"""The gradient of an ONNX graph, as operators of the same graph, by rules for each operator
(``onnx_rules``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.onnx_writer import OnnxWriter, Shape
from edgemon.compiler.gradient.refused import Refused, of_integers
from edgemon.compiler.models.onnx_graph import attributes

OWN = ("", "ai.onnx")  # domains of the standard's operators
# Operators that compute with codes begin or end so.
_INTEGER = re.compile("QLinear|QGemm|QuantizeLinear|DequantizeLinear|DynamicQuantize|.*Integer")

Rule = Callable[["Backward", Any, str], None]


class Backward:
    """Gradients by tensor, from the last operator to the first."""

    def __init__(self, file: OnnxWriter, entry: str, rules: Mapping[str, Rule]) -> None:
        self.file, self._entry, self._rules = file, entry, rules
        self._gradients: dict[str, str] = {}
        self._forward = list(file.graph.node)
        self._moving = {entry}  # tensors that depend on the input
        for node in self._forward:
            if self._moving.intersection(node.input):
                self._moving.update(filter(None, node.output))

    def of_entry(self, output: str, gradient: str) -> str:
        """The gradient with regard to the input. Raises CompileError."""
        self._gradients[output] = gradient
        for node in reversed(self._forward):
            found = [name for name in node.output if name in self._gradients]
            if not found or not self._moving.intersection(node.input):
                continue
            if _INTEGER.match(node.op_type):
                raise of_integers()
            rule = self._rules.get(node.op_type)
            if rule is None or node.domain not in OWN or found != [node.output[0]]:
                raise Refused(f"the operator {node.op_type}")
            if self.file.dtypes[found[0]] != "float32":
                raise Refused(f"{node.op_type} of {self.file.dtypes[found[0]]}")
            rule(self, node, self._gradients[found[0]])
        if self._entry not in self._gradients:
            raise CompileError("monitor odin: the model's output does not depend on its input")
        return self._gradients[self._entry]

    def moves(self, name: str) -> bool:
        """Does the tensor depend on the input?"""
        return name in self._moving

    def require_still(self, node: Any, *positions: int) -> None:
        """Raises CompileError if one of these inputs depends on the model's."""
        if any(self.moves(node.input[i]) for i in positions if i < len(node.input)):
            raise Refused(f"{node.op_type} of two layers")

    def add(self, name: str, gradient: str) -> None:
        """Paths that meet add up; constants have no gradient. ``gradient`` may have the shape to
        which the tensor was broadcast."""
        if not self.moves(name):
            return
        gradient = self._narrowed(gradient, self.shape(name))
        if name in self._gradients:
            gradient = self.op("Add", (self._gradients[name], gradient), self.shape(name))
        self._gradients[name] = gradient

    def shape(self, name: str) -> Shape:
        return self.file.shapes[name]

    def op(self, name: str, inputs: tuple[str, ...], shape: Shape, **values: Any) -> str:
        return self.file.op(name, inputs, shape, **values)

    def times(self, gradient: str, other: str) -> str:
        """In the shape to which both are broadcast."""
        shape = np.broadcast_shapes(self.shape(gradient), self.shape(other))
        return self.op("Mul", (gradient, other), shape)

    def reshaped(self, gradient: str, shape: Shape) -> str:
        if self.shape(gradient) == shape:
            return gradient
        return self.op("Reshape", (gradient, self.file.integers(shape)), shape)

    def spread(self, gradient: str, shape: Shape, share: float) -> str:
        """Each element times ``share``, to all that it was taken of."""
        shared = self.times(gradient, self.file.floats(share))
        return self.op("Expand", (shared, self.file.integers(shape)), shape)

    def truth(self, test: str, value: str, against: str) -> str:
        """1.0 where a comparison holds, else 0.0."""
        shape = np.broadcast_shapes(self.shape(value), self.shape(against))
        found = self.file.op(test, (value, against), shape, "bool")
        return self.op("Cast", (found,), shape, to=1)

    def _narrowed(self, gradient: str, shape: Shape) -> str:
        """The sum over what broadcasting repeated."""
        wide = self.shape(gradient)
        if wide == shape:
            return gradient
        padded = (1,) * (len(wide) - len(shape)) + shape
        axes = [i for i, (a, b) in enumerate(zip(wide, padded, strict=True)) if a != b]
        if axes:
            inputs = (gradient, self.file.integers(axes))
            gradient = self.op("ReduceSum", inputs, padded, keepdims=1)
        return self.reshaped(gradient, shape)


def given(node: Any, **defaults: Any) -> dict[str, Any]:
    """The attributes of a node, over defaults."""
    return {**defaults, **attributes(node)}
