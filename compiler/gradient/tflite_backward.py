"""The gradient of a float TFLite graph, as built-in operators of the same graph, by rules for each
operator (``tflite_rules``, ``tflite_windows``).

The converter has no gradient of ReLU and of pooling among the built-in operators, so each is
written by hand.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from ai_edge_litert import schema_py_generated as schema

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.refused import Refused, of_integers
from edgemon.compiler.gradient.tflite_writer import Shape, TfliteWriter

_BOOL = schema.TensorType.BOOL
_LIMITS = {0: (-math.inf, math.inf), 1: (0.0, math.inf), 2: (-1.0, 1.0), 3: (0.0, 6.0)}  # of fused
_TABLES = {
    "GREATER": "GreaterOptions", "LESS": "LessOptions", "EQUAL": "EqualOptions",
    "GREATER_EQUAL": "GreaterEqualOptions",
}  # fmt: skip
_OF_CODES = ("QUANTIZE", "DEQUANTIZE")

Rule = Callable[["Backward", Any, int], None]


class Backward:
    """Gradients by tensor, from the last operator to the first."""

    def __init__(self, file: TfliteWriter, entry: int, rules: Mapping[str, Rule]) -> None:
        self.file, self._entry, self._rules = file, entry, rules
        self._gradients: dict[int, int] = {}
        self._forward = list(file.graph.operators)
        self._moving = {entry}  # tensors that depend on the input
        for operator in self._forward:
            if self._moving & set(map(int, operator.inputs)):
                self._moving |= set(map(int, operator.outputs))

    def of_entry(self, output: int, gradient: int) -> int:
        """The gradient with regard to the input. Raises CompileError."""
        self._gradients[output] = gradient
        for operator in reversed(self._forward):
            made = [i for i in map(int, operator.outputs) if i in self._gradients]
            if not made or not any(self.moves(int(i)) for i in operator.inputs):
                continue
            name = self.file.name(operator)
            moving = [i for i in map(int, operator.inputs) if self.moves(i)]
            if name in _OF_CODES:
                raise of_integers()
            rule = self._rules.get(name)
            if rule is None or len(operator.outputs) > 1:
                raise Refused(f"the operator {name}")
            if not all(self.file.is_float(i) for i in (*moving, *made)):
                raise of_integers()
            rule(self, operator, self._through_fused(operator, made[0]))
        if self._entry not in self._gradients:
            raise CompileError("monitor odin: the model's output does not depend on its input")
        return self._gradients[self._entry]

    def moves(self, index: int) -> bool:
        """Does the tensor depend on the input?"""
        return index in self._moving

    def shape(self, index: int) -> Shape:
        return self.file.shape(index)

    def add(self, index: int, gradient: int) -> None:
        """Paths that meet add up; constants have no gradient. ``gradient`` may have the shape to
        which the tensor was broadcast."""
        if not self.moves(index):
            return
        gradient = self._narrowed(gradient, self.shape(index))
        if index in self._gradients:
            both = (self._gradients[index], gradient)
            gradient = self.file.op("ADD", both, self.shape(index), options="AddOptions")
        self._gradients[index] = gradient

    def clipped(self, gradient: int, value: int, low: float, high: float) -> int:
        """Where a value lies between the limits, both left out."""
        for test, limit in (("GREATER", low), ("LESS", high)):
            if math.isfinite(limit):
                gradient = self.times(gradient, self.truth(test, value, self.file.floats(limit)))
        return gradient

    def truth(self, test: str, value: int, against: int) -> int:
        """1.0 where a comparison holds, else 0.0; in the shape of ``value``."""
        shape = self.shape(value)
        found = self.file.op(test, (value, against), shape, _BOOL, options=_TABLES[test])
        return self.file.op(
            "CAST", (found,), shape, options="CastOptions", inDataType=_BOOL,
            outDataType=schema.TensorType.FLOAT32,
        )  # fmt: skip

    def times(self, gradient: int, other: int) -> int:
        """In the shape to which both are broadcast."""
        return self.both("MUL", gradient, other)

    def both(self, name: str, left: int, right: int) -> int:
        """MUL, ADD, SUB or DIV."""
        shape = np.broadcast_shapes(self.shape(left), self.shape(right))
        return self.file.op(name, (left, right), shape, options=f"{name.title()}Options")

    def reshaped(self, gradient: int, shape: Shape) -> int:
        if self.shape(gradient) == shape:
            return gradient
        return self.file.op(
            "RESHAPE", (gradient, self.file.integers(shape)), shape, options="ReshapeOptions",
            newShape=list(shape),
        )  # fmt: skip

    def spread(self, gradient: int, shape: Shape, share: float) -> int:
        """Each element times ``share``, to all that it was taken of."""
        return self.times(gradient, self.file.constant(np.full(shape, share, np.float32)))

    def cut(self, index: int, begin: Shape, shape: Shape) -> int:
        """The part of this shape that begins there."""
        inputs = (index, self.file.integers(begin), self.file.integers(shape))
        return self.file.op("SLICE", inputs, shape, options="SliceOptions")

    def padded(self, index: int, before: Shape, after: Shape) -> int:
        """With zeros around it."""
        shape = tuple(b + n + a for b, n, a in zip(before, self.shape(index), after, strict=True))
        if shape == self.shape(index):
            return index
        to = self.file.constant(np.array(list(zip(before, after, strict=True)), np.int32))
        return self.file.op("PAD", (index, to), shape, options="PadOptions")

    def weights(self, operator: Any) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Of a convolution or a dense layer. Raises CompileError if they are no constants."""
        found = self.file.value(int(operator.inputs[1]))
        if found is None:
            raise Refused(f"{self.file.name(operator)} whose weights are no float constants")
        return found

    def _through_fused(self, operator: Any, made: int) -> int:
        fused = getattr(operator.builtinOptions, "fusedActivationFunction", 0)
        if fused not in _LIMITS:
            raise Refused(f"the fused activation of {self.file.name(operator)}")
        return self.clipped(self._gradients[made], made, *_LIMITS[fused])

    def _narrowed(self, gradient: int, shape: Shape) -> int:
        """The sum over what broadcasting repeated."""
        wide = self.shape(gradient)
        padded = (1,) * (len(wide) - len(shape)) + shape
        axes = [i for i, (a, b) in enumerate(zip(wide, padded, strict=True)) if a != b]
        if axes:
            gradient = self.file.op(
                "SUM", (gradient, self.file.integers(axes)), padded, options="ReducerOptions",
                keepDims=True,
            )  # fmt: skip
        return self.reshaped(gradient, shape)
