"""Backward rules of TFLite operators, by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from edgemon.compiler.gradient import tflite_windows
from edgemon.compiler.gradient.refused import Refused
from edgemon.compiler.gradient.tflite_backward import Backward, Rule

SIX, THREE, HALF = 6.0, 3.0, 0.5  # of HARD_SWISH


def _dense(back: Backward, operator: Any, gradient: int) -> None:
    weights, source = back.weights(operator), int(operator.inputs[0])
    shape = back.shape(source)
    rows = math.prod(shape) // weights.shape[1]
    flat = back.reshaped(gradient, (rows, weights.shape[0]))
    turned = back.file.constant(np.ascontiguousarray(weights.T))
    made = back.file.op(
        "FULLY_CONNECTED", (flat, turned, -1), (rows, weights.shape[1]),
        options="FullyConnectedOptions",
    )  # fmt: skip
    back.add(source, back.reshaped(made, shape))


def _mean(back: Backward, operator: Any, gradient: int) -> None:
    shape, kept = back.shape(int(operator.inputs[0])), _kept(back, operator)
    share = math.prod(kept) / math.prod(shape)
    back.add(int(operator.inputs[0]), back.spread(back.reshaped(gradient, kept), shape, share))


def _sum(back: Backward, operator: Any, gradient: int) -> None:
    shape, kept = back.shape(int(operator.inputs[0])), _kept(back, operator)
    back.add(int(operator.inputs[0]), back.spread(back.reshaped(gradient, kept), shape, 1.0))


def _kept(back: Backward, operator: Any) -> tuple[int, ...]:
    """The reduced shape with axes of length 1."""
    shape = back.shape(int(operator.inputs[0]))
    over = {a % len(shape) for a in _constant(back, operator, 1)}
    return tuple(1 if axis in over else n for axis, n in enumerate(shape))


def _constant(back: Backward, operator: Any, position: int) -> list[int]:
    found = back.file.whole(int(operator.inputs[position]))
    if found is None:
        raise Refused(f"{back.file.name(operator)} by numbers that are no constants")
    return [int(n) for n in found.ravel()]


def _add(back: Backward, operator: Any, gradient: int) -> None:
    for index in map(int, operator.inputs):
        back.add(index, gradient)


def _sub(back: Backward, operator: Any, gradient: int) -> None:
    left, right = map(int, operator.inputs)
    back.add(left, gradient)
    if back.moves(right):
        back.add(right, back.times(gradient, back.file.floats(-1.0)))


def _mul(back: Backward, operator: Any, gradient: int) -> None:
    left, right = map(int, operator.inputs)
    for index, other in ((left, right), (right, left)):
        if back.moves(index):
            back.add(index, back.times(gradient, other))


def _div(back: Backward, operator: Any, gradient: int) -> None:
    left, right = map(int, operator.inputs)
    if back.moves(right):
        raise Refused("DIV by a layer")
    back.add(left, back.both("DIV", gradient, right))


def _reshape(back: Backward, operator: Any, gradient: int) -> None:
    source = int(operator.inputs[0])
    back.add(source, back.reshaped(gradient, back.shape(source)))


def _transpose(back: Backward, operator: Any, gradient: int) -> None:
    source = int(operator.inputs[0])
    order = np.argsort(_constant(back, operator, 1)).tolist()
    inputs = (gradient, back.file.integers(order))
    made = back.file.op("TRANSPOSE", inputs, back.shape(source), options="TransposeOptions")
    back.add(source, made)


def _pad(back: Backward, operator: Any, gradient: int) -> None:
    source = int(operator.inputs[0])
    before = tuple(_constant(back, operator, 1)[::2])
    back.add(source, back.cut(gradient, before, back.shape(source)))


def _concatenation(back: Backward, operator: Any, gradient: int) -> None:
    rank = len(back.shape(gradient))
    axis, at = operator.builtinOptions.axis % rank, 0
    for index in map(int, operator.inputs):
        shape = back.shape(index)
        if back.moves(index):
            begin = tuple(at if i == axis else 0 for i in range(rank))
            back.add(index, back.cut(gradient, begin, shape))
        at += shape[axis]


def _clip(low: float, high: float) -> Rule:
    def rule(back: Backward, operator: Any, gradient: int) -> None:
        made = int(operator.outputs[0])
        back.add(int(operator.inputs[0]), back.clipped(gradient, made, low, high))

    return rule


def _leaky(back: Backward, operator: Any, gradient: int) -> None:
    x, slope = int(operator.inputs[0]), operator.builtinOptions.alpha
    above = back.truth("GREATER", x, back.file.floats(0.0))
    rest = back.both("ADD", back.times(above, back.file.floats(1 - slope)), back.file.floats(slope))
    back.add(x, back.times(gradient, rest))


def _logistic(back: Backward, operator: Any, gradient: int) -> None:
    y = int(operator.outputs[0])
    rest = back.both("SUB", back.file.floats(1.0), y)
    back.add(int(operator.inputs[0]), back.times(gradient, back.times(y, rest)))


def _tanh(back: Backward, operator: Any, gradient: int) -> None:
    y = int(operator.outputs[0])
    rest = back.both("SUB", back.file.floats(1.0), back.times(y, y))
    back.add(int(operator.inputs[0]), back.times(gradient, rest))


def _hard_swish(back: Backward, operator: Any, gradient: int) -> None:
    """x * clip(x / 6 + 1 / 2, 0, 1): a slope of 0 up to -3, 1 from 3, and x / 3 + 1 / 2 between."""
    x = int(operator.inputs[0])
    slope = back.both("ADD", back.times(x, back.file.floats(2 / SIX)), back.file.floats(HALF))
    between = back.clipped(slope, x, -THREE, THREE)
    above = back.truth("GREATER_EQUAL", x, back.file.floats(THREE))
    back.add(x, back.times(gradient, back.both("ADD", between, above)))


RULES: dict[str, Rule] = {
    "CONV_2D": tflite_windows.convolution,
    "DEPTHWISE_CONV_2D": tflite_windows.depthwise,
    "AVERAGE_POOL_2D": tflite_windows.average_pool,
    "MAX_POOL_2D": tflite_windows.max_pool,
    "FULLY_CONNECTED": _dense,
    "MEAN": _mean,
    "SUM": _sum,
    "ADD": _add,
    "SUB": _sub,
    "MUL": _mul,
    "DIV": _div,
    "PAD": _pad,
    "PADV2": _pad,
    "CONCATENATION": _concatenation,
    "TRANSPOSE": _transpose,
    "RELU": _clip(0.0, math.inf),
    "RELU6": _clip(0.0, 6.0),
    "RELU_N1_TO_1": _clip(-1.0, 1.0),
    "LEAKY_RELU": _leaky,
    "LOGISTIC": _logistic,
    "TANH": _tanh,
    "HARD_SWISH": _hard_swish,
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS"), _reshape),
}
