"""Backward operators of a float TFLite graph, of built-in operators alone.

The converter has no gradient of ReLU and of pooling among the built-in operators, so each is
written by hand: masks for ReLU, a transposed convolution for a convolution, a product with a
constant for a mean.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema

from edgemon.compiler.errors import CompileError
from edgemon.compiler.gradient.refused import Refused
from edgemon.compiler.gradient.tflite_writer import TfliteWriter

Array = npt.NDArray[Any]

_BOOL = schema.TensorType.BOOL
_VALID = schema.Padding.VALID
_TOP = {0: None, 1: math.inf, 3: 6.0}  # of fused NONE, RELU, RELU6


class Backward:
    """Gradients by tensor, from the last operator to the first."""

    def __init__(self, writer: TfliteWriter, entry: int) -> None:
        self._file, self._entry = writer, entry
        self._gradients: dict[int, int] = {}
        self._forward = list(writer.graph.operators)
        self._moving = {entry}  # tensors that depend on the input
        for operator in self._forward:
            if self._moving & set(map(int, operator.inputs)):
                self._moving |= set(map(int, operator.outputs))

    def of_entry(self, output: int, gradient: int) -> int:
        """The gradient with regard to the input. Raises CompileError."""
        self._gradients[output] = gradient
        for operator in reversed(self._forward):
            made = int(operator.outputs[0])
            if made not in self._gradients or made not in self._moving:
                continue
            name = self._file.name(operator)
            rule = _RULES.get(name)
            if rule is None or len(operator.outputs) > 1:
                raise Refused(f"the operator {name}")
            if not all(self._file.is_float(int(i)) for i in (operator.inputs[0], made)):
                raise Refused(f"{name} on integers")
            rule(self, operator, self._through_fused(operator, made))
        if self._entry not in self._gradients:
            raise CompileError("monitor odin: the model's output does not depend on its input")
        return self._gradients[self._entry]

    def _add(self, index: int, gradient: int) -> None:
        """Paths that meet add up; constants have no gradient."""
        if index not in self._moving:
            return
        if index in self._gradients:
            both = (self._gradients[index], gradient)
            gradient = self._file.op("ADD", both, self._file.shape(index), options="AddOptions")
        self._gradients[index] = gradient

    def _through_fused(self, operator: Any, made: int) -> int:
        fused = getattr(operator.builtinOptions, "fusedActivationFunction", 0)
        if fused not in _TOP:
            raise Refused(f"the fused activation of {self._file.name(operator)}")
        top = _TOP[fused]
        gradient = self._gradients[made]
        return gradient if top is None else self._masked(gradient, made, top)

    def _masked(self, gradient: int, made: int, top: float) -> int:
        """Where a clipped value lies between 0 and ``top``, both left out."""
        gradient = self._where("GREATER", made, 0.0, gradient)
        return gradient if math.isinf(top) else self._where("LESS", made, top, gradient)

    def _where(self, test: str, value: int, limit: float, gradient: int) -> int:
        against = self._file.constant(np.array([limit], np.float32))
        return self._times(gradient, self.truth(test, value, against))

    def truth(self, test: str, value: int, against: int) -> int:
        """1.0 where a comparison holds, else 0.0; in the shape of ``value``."""
        shape = self._file.shape(value)
        table = {"GREATER": "Greater", "LESS": "Less", "EQUAL": "Equal"}[test] + "Options"
        found = self._file.op(test, (value, against), shape, _BOOL, options=table)
        return self._file.op(
            "CAST", (found,), shape, options="CastOptions", inDataType=_BOOL,
            outDataType=schema.TensorType.FLOAT32,
        )  # fmt: skip

    def _times(self, gradient: int, other: int, shape: tuple[int, ...] | None = None) -> int:
        shape = self._file.shape(gradient) if shape is None else shape
        return self._file.op("MUL", (gradient, other), shape, options="MulOptions")

    def reshaped(self, gradient: int, shape: tuple[int, ...]) -> int:
        if self._file.shape(gradient) == shape:
            return gradient
        to = self._file.constant(np.array(shape, np.int32))
        return self._file.op(
            "RESHAPE", (gradient, to), shape, options="ReshapeOptions", newShape=list(shape)
        )

    def _weights(self, operator: Any) -> Array:
        found = self._file.value(int(operator.inputs[1]))
        if found is None:
            raise Refused(f"{self._file.name(operator)} whose weights are no float constants")
        return found

    def _transposed(self, operator: Any, gradient: int, weights: Array) -> None:
        """``weights``: (output channels, height, width, input channels) of the forward pass."""
        options, source = operator.builtinOptions, int(operator.inputs[0])
        if max(getattr(options, "dilationWFactor", 1), getattr(options, "dilationHFactor", 1)) > 1:
            raise Refused(f"a dilated {self._file.name(operator)}")
        shape = self._file.shape(source)
        if shape[-1] != weights.shape[-1]:
            raise Refused(f"{self._file.name(operator)} in groups")
        turned = np.ascontiguousarray(weights.transpose(3, 1, 2, 0))
        inputs = (
            self._file.constant(np.array(shape, np.int32)), self._file.constant(turned), gradient
        )  # fmt: skip
        made = self._file.op(
            "TRANSPOSE_CONV", inputs, shape, options="TransposeConvOptions",
            padding=options.padding, strideW=options.strideW, strideH=options.strideH,
        )  # fmt: skip
        self._add(source, made)

    def convolution(self, operator: Any, gradient: int) -> None:
        self._transposed(operator, gradient, self._weights(operator))

    def depthwise(self, operator: Any, gradient: int) -> None:
        """As a convolution whose weights are 0 between channels: there is no transposed depthwise
        one."""
        weights = self._weights(operator)[0]  # (height, width, input channels * multiplier)
        height, width, made = weights.shape
        taken = self._file.shape(int(operator.inputs[0]))[-1]
        full = np.zeros((made, height, width, taken), np.float32)
        for channel in range(made):
            full[channel, :, :, channel * taken // made] = weights[:, :, channel]
        self._transposed(operator, gradient, full)

    def dense(self, operator: Any, gradient: int) -> None:
        weights, source = self._weights(operator), int(operator.inputs[0])
        shape = self._file.shape(source)
        rows = math.prod(shape) // weights.shape[1]
        flat = self.reshaped(gradient, (rows, weights.shape[0]))
        turned = self._file.constant(np.ascontiguousarray(weights.T))
        made = self._file.op(
            "FULLY_CONNECTED", (flat, turned, -1), (rows, weights.shape[1]),
            options="FullyConnectedOptions",
        )  # fmt: skip
        self._add(source, self.reshaped(made, shape))

    def average_pool(self, operator: Any, gradient: int) -> None:
        options, source = operator.builtinOptions, int(operator.inputs[0])
        _, height, width, channels = self._file.shape(source)
        size = (options.filterHeight, options.filterWidth)
        if size == (height, width) and self._file.shape(gradient)[1:3] == (1, 1):
            if options.padding != _VALID:
                raise Refused("AVERAGE_POOL_2D with padding")
            self._spread(source, gradient)
            return
        if options.padding != _VALID:
            raise Refused("AVERAGE_POOL_2D with padding")
        weights = np.zeros((channels, *size, channels), np.float32)
        weights[range(channels), :, :, range(channels)] = 1 / math.prod(size)
        self._transposed(operator, gradient, weights)

    def max_pool(self, operator: Any, gradient: int) -> None:
        """To the largest values of each window, in equal parts where several are equal."""
        options, source = operator.builtinOptions, int(operator.inputs[0])
        size = (options.filterHeight, options.filterWidth)
        if size != (options.strideH, options.strideW):
            raise Refused("MAX_POOL_2D whose windows overlap or leave gaps")
        made, shape = self._file.shape(gradient), self._file.shape(source)
        covered = (1, made[1] * size[0], made[2] * size[1], made[3])
        if covered[1] > shape[1] or covered[2] > shape[2]:
            raise Refused("MAX_POOL_2D with padding")
        seen = source if covered == shape else self._cut(source, covered)
        largest = self._repeated(int(operator.outputs[0]), size)
        mask = self.truth("EQUAL", seen, largest)
        share = self._file.op(
            "AVERAGE_POOL_2D", (mask,), made, options="Pool2DOptions", padding=_VALID,
            strideH=size[0], strideW=size[1], filterHeight=size[0], filterWidth=size[1],
        )  # fmt: skip
        count = self._times(share, self._file.constant(np.array([math.prod(size)], np.float32)))
        one = self._file.constant(np.array([1], np.float32))
        count = self._file.op("MAXIMUM", (count, one), made, options="MaximumMinimumOptions")
        each = self._file.op("DIV", (gradient, count), made, options="DivOptions")
        found = self._times(self._repeated(each, size), mask)
        if covered != shape:
            rest = [[0, n - m] for n, m in zip(shape, covered, strict=True)]
            to = self._file.constant(np.array(rest, np.int32))
            found = self._file.op("PAD", (found, to), shape, options="PadOptions")
        self._add(source, found)

    def _cut(self, index: int, shape: tuple[int, ...]) -> int:
        begin = self._file.constant(np.zeros(len(shape), np.int32))
        size = self._file.constant(np.array(shape, np.int32))
        return self._file.op("SLICE", (index, begin, size), shape, options="SliceOptions")

    def _repeated(self, index: int, size: tuple[int, int]) -> int:
        """Each value of (1, height, width, channels) for a whole window."""
        _, height, width, channels = self._file.shape(index)
        for rows, times, columns in (
            (height, size[0], width * channels),
            (height * size[0] * width, size[1], channels),
        ):
            flat = self.reshaped(index, (rows, 1, columns))
            by = self._file.constant(np.array([1, times, 1], np.int32))
            index = self._file.op("TILE", (flat, by), (rows, times, columns), options="TileOptions")
        return self.reshaped(index, (1, height * size[0], width * size[1], channels))

    def mean(self, operator: Any, gradient: int) -> None:
        axes = self._file.model.buffers[self._file.graph.tensors[operator.inputs[1]].buffer].data
        shape = self._file.shape(int(operator.inputs[0]))
        over = {int(a) % len(shape) for a in np.asarray(axes, np.uint8).view("<i4")}
        kept = tuple(1 if axis in over else n for axis, n in enumerate(shape))
        self._spread(int(operator.inputs[0]), self.reshaped(gradient, kept))

    def _spread(self, source: int, gradient: int) -> None:
        """The gradient of a mean, to all that it was taken of."""
        shape = self._file.shape(source)
        count = math.prod(shape) / math.prod(self._file.shape(gradient))
        share = self._file.constant(np.full(shape, 1 / count, np.float32))
        self._add(source, self._times(gradient, share, shape))

    def add(self, operator: Any, gradient: int) -> None:
        for index in map(int, operator.inputs):
            if index in self._moving:
                if self._file.shape(index) != self._file.shape(gradient):
                    raise Refused("ADD of two shapes")
                self._add(index, gradient)

    def scaled(self, operator: Any, gradient: int) -> None:
        moving = [i for i in map(int, operator.inputs) if i in self._moving]
        other = [i for i in map(int, operator.inputs) if i not in self._moving]
        if len(moving) != 1 or self._file.shape(moving[0]) != self._file.shape(gradient):
            raise Refused("MUL of two layers")
        self._add(moving[0], self._times(gradient, other[0]))

    def reshape(self, operator: Any, gradient: int) -> None:
        source = int(operator.inputs[0])
        self._add(source, self.reshaped(gradient, self._file.shape(source)))

    def relu(self, operator: Any, gradient: int) -> None:
        self._add(
            int(operator.inputs[0]), self._masked(gradient, int(operator.outputs[0]), math.inf)
        )

    def relu6(self, operator: Any, gradient: int) -> None:
        self._add(int(operator.inputs[0]), self._masked(gradient, int(operator.outputs[0]), 6.0))


_RULES: dict[str, Callable[[Backward, Any, int], None]] = {
    "CONV_2D": Backward.convolution,
    "DEPTHWISE_CONV_2D": Backward.depthwise,
    "FULLY_CONNECTED": Backward.dense,
    "AVERAGE_POOL_2D": Backward.average_pool,
    "MAX_POOL_2D": Backward.max_pool,
    "MEAN": Backward.mean,
    "ADD": Backward.add,
    "MUL": Backward.scaled,
    "RESHAPE": Backward.reshape,
    "RELU": Backward.relu,
    "RELU6": Backward.relu6,
}
