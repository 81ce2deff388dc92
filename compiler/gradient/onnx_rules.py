"""Backward rules of ONNX operators, by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edgemon.compiler.gradient import onnx_shapes, onnx_windows
from edgemon.compiler.gradient.onnx_backward import Backward, Rule, given
from edgemon.compiler.gradient.refused import Refused

SIX, THREE, HALF = 6.0, 3.0, 0.5  # of HardSwish


def _gemm(back: Backward, node: Any, gradient: str) -> None:
    """alpha * A * B + beta * C."""
    values = given(node, alpha=1.0, beta=1.0, transA=0, transB=0)
    back.require_still(node, 1)
    if values["transA"]:
        raise Refused("Gemm with transA")
    source, weights = node.input[0], node.input[1]
    made = back.op(
        "Gemm", (gradient, weights), back.shape(source), alpha=values["alpha"],
        transB=1 - values["transB"],
    )  # fmt: skip
    back.add(source, made)
    if len(node.input) > 2 and back.moves(node.input[2]):
        back.add(node.input[2], back.times(gradient, back.file.floats(values["beta"])))


def _matmul(back: Backward, node: Any, gradient: str) -> None:
    left, right = node.input
    if back.moves(left) and back.moves(right):
        raise Refused("MatMul of two layers")
    if min(len(back.shape(left)), len(back.shape(right))) < 2:
        raise Refused("MatMul of a vector")
    moving, other = (left, right) if back.moves(left) else (right, left)
    shape = back.shape(other)
    order = [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2]
    turned = back.op("Transpose", (other,), tuple(shape[i] for i in order), perm=order)
    inputs = (gradient, turned) if moving == left else (turned, gradient)
    (*lead, rows, _), columns = back.shape(inputs[0]), back.shape(inputs[1])[-1]
    wide = np.broadcast_shapes(tuple(lead), back.shape(inputs[1])[:-2])
    back.add(moving, back.op("MatMul", inputs, (*wide, rows, columns)))


def _add(back: Backward, node: Any, gradient: str) -> None:
    for name in node.input:
        back.add(name, gradient)


def _sub(back: Backward, node: Any, gradient: str) -> None:
    left, right = node.input
    back.add(left, gradient)
    if back.moves(right):
        back.add(right, _negative(back, gradient))


def _mul(back: Backward, node: Any, gradient: str) -> None:
    left, right = node.input
    for name, other in ((left, right), (right, left)):
        if back.moves(name):
            back.add(name, back.times(gradient, other))


def _div(back: Backward, node: Any, gradient: str) -> None:
    left, right = node.input
    share = back.op("Div", (gradient, right), back.shape(gradient))
    back.add(left, share)
    if back.moves(right):
        back.add(right, _negative(back, back.times(share, node.output[0])))


def _neg(back: Backward, node: Any, gradient: str) -> None:
    back.add(node.input[0], _negative(back, gradient))


def _negative(back: Backward, gradient: str) -> str:
    return back.op("Neg", (gradient,), back.shape(gradient))


def _normalisation(back: Backward, node: Any, gradient: str) -> None:
    """(x - mean) / sqrt(variance + epsilon) * scale + shift, a channel."""
    values = given(node, epsilon=1e-5, training_mode=0)
    stored = [back.file.constants.get(node.input[i]) for i in (1, 4)]
    scale, variance = stored
    if values["training_mode"] or scale is None or variance is None:
        raise Refused("BatchNormalization that is no inference with constants")
    factor = scale.astype(np.float64) / np.sqrt(variance.astype(np.float64) + values["epsilon"])
    along = [-1 if i == 1 else 1 for i in range(len(back.shape(node.input[0])))]
    by = back.file.constant(factor.astype(np.float32).reshape(along))
    back.add(node.input[0], back.times(gradient, by))


def _relu(back: Backward, node: Any, gradient: str) -> None:
    zero = back.file.floats(0.0)
    back.add(node.input[0], back.times(gradient, back.truth("Greater", node.output[0], zero)))


def _clip(back: Backward, node: Any, gradient: str) -> None:
    """Inside of the limits, both left out."""
    tests = ("Greater", "Less")
    for test, limit in zip(tests, node.input[1:], strict=False):
        if limit:
            gradient = back.times(gradient, back.truth(test, node.input[0], limit))
    back.add(node.input[0], gradient)


def _leaky(back: Backward, node: Any, gradient: str) -> None:
    slope = back.file.floats(given(node, alpha=0.01)["alpha"])
    _sloped(back, node, gradient, slope)


def _prelu(back: Backward, node: Any, gradient: str) -> None:
    back.require_still(node, 1)
    _sloped(back, node, gradient, node.input[1])


def _sloped(back: Backward, node: Any, gradient: str, slope: str) -> None:
    source, shape = node.input[0], back.shape(gradient)
    above = back.file.op("Greater", (source, back.file.floats(0.0)), shape, "bool")
    inputs = (above, gradient, back.times(gradient, slope))
    back.add(source, back.op("Where", inputs, shape))


def _sigmoid(back: Backward, node: Any, gradient: str) -> None:
    y = node.output[0]
    rest = back.op("Sub", (back.file.floats(1.0), y), back.shape(y))
    back.add(node.input[0], back.times(gradient, back.times(y, rest)))


def _tanh(back: Backward, node: Any, gradient: str) -> None:
    y = node.output[0]
    rest = back.op("Sub", (back.file.floats(1.0), back.times(y, y)), back.shape(y))
    back.add(node.input[0], back.times(gradient, rest))


def _hard_sigmoid(back: Backward, node: Any, gradient: str) -> None:
    y, alpha = node.output[0], given(node, alpha=0.2)["alpha"]
    inside = back.times(
        back.truth("Greater", y, back.file.floats(0.0)),
        back.truth("Less", y, back.file.floats(1.0)),
    )
    steep = back.times(gradient, back.file.floats(alpha))
    back.add(node.input[0], back.times(steep, inside))


def _hard_swish(back: Backward, node: Any, gradient: str) -> None:
    """x * clip(x / 6 + 1 / 2, 0, 1): a slope of 0 up to -3, 1 from 3, and x / 3 + 1 / 2 between."""
    x = node.input[0]
    between = back.times(
        back.truth("Greater", x, back.file.floats(-THREE)),
        back.truth("Less", x, back.file.floats(THREE)),
    )
    slope = back.op("Add", (back.times(x, back.file.floats(2 / SIX)), back.file.floats(HALF)),
                    back.shape(x))  # fmt: skip
    above = back.truth("GreaterOrEqual", x, back.file.floats(THREE))
    slope = back.op("Add", (back.times(slope, between), above), back.shape(x))
    back.add(x, back.times(gradient, slope))


def _global_average(back: Backward, node: Any, gradient: str) -> None:
    shape = back.shape(node.input[0])
    share = math.prod(back.shape(gradient)) / math.prod(shape)
    back.add(node.input[0], back.spread(gradient, shape, share))


def _mean(back: Backward, node: Any, gradient: str) -> None:
    kept, shape = _kept(back, node), back.shape(node.input[0])
    share = math.prod(kept) / math.prod(shape)
    back.add(node.input[0], back.spread(back.reshaped(gradient, kept), shape, share))


def _sum(back: Backward, node: Any, gradient: str) -> None:
    shape = back.shape(node.input[0])
    wide = back.spread(back.reshaped(gradient, _kept(back, node)), shape, 1.0)
    back.add(node.input[0], wide)


def _kept(back: Backward, node: Any) -> tuple[int, ...]:
    """The reduced shape with axes of length 1: by an attribute, or since opset 18 by an input."""
    shape = back.shape(node.input[0])
    values = given(node, axes=None, noop_with_empty_axes=0)
    axes = values["axes"]
    if len(node.input) > 1 and node.input[1]:
        if node.input[1] not in back.file.constants:
            raise Refused(f"{node.op_type} over axes that are no constants")
        axes = back.file.constants[node.input[1]].tolist()
    if not axes:
        return shape if values["noop_with_empty_axes"] else (1,) * len(shape)
    over = {a % len(shape) for a in axes}
    return tuple(1 if i in over else n for i, n in enumerate(shape))


RULES: dict[str, Rule] = {
    "Conv": onnx_windows.convolution,
    "AveragePool": onnx_windows.average_pool,
    "MaxPool": onnx_windows.max_pool,
    "GlobalMaxPool": onnx_windows.global_max_pool,
    "GlobalAveragePool": _global_average,
    "ReduceMean": _mean,
    "ReduceSum": _sum,
    "Gemm": _gemm,
    "MatMul": _matmul,
    "Add": _add,
    "Sum": _add,
    "Sub": _sub,
    "Mul": _mul,
    "Div": _div,
    "Neg": _neg,
    "BatchNormalization": _normalisation,
    "Relu": _relu,
    "Clip": _clip,
    "LeakyRelu": _leaky,
    "PRelu": _prelu,
    "Sigmoid": _sigmoid,
    "Tanh": _tanh,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _hard_swish,
    "Concat": onnx_shapes.concat,
    "Pad": onnx_shapes.pad,
    "Slice": onnx_shapes.sliced,
    "Cast": onnx_shapes.cast,
    "Dropout": onnx_shapes.dropout,
    "Transpose": onnx_shapes.transpose,
    **dict.fromkeys(
        ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Identity"), onnx_shapes.reshape
    ),
}
