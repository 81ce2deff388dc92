"""Backward rules of TFLite operators that slide over an image: convolutions and pools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema

from edgemon.compiler.gradient.refused import Refused
from edgemon.compiler.gradient.tflite_backward import Backward

Array = npt.NDArray[np.float32]

_VALID = schema.Padding.VALID


def convolution(back: Backward, operator: Any, gradient: int) -> None:
    weights = back.weights(operator)
    if back.shape(int(operator.inputs[0]))[-1] != weights.shape[-1]:
        raise Refused("CONV_2D in groups")
    _full(back, operator, gradient, weights)


def depthwise(back: Backward, operator: Any, gradient: int) -> None:
    """By a depthwise one where it moves by one pixel; else by a full one whose weights are 0
    between channels, for there is no transposed depthwise one."""
    weights = back.weights(operator)[0]  # (height, width, input channels * multiplier)
    height, width, made = weights.shape
    taken = back.shape(int(operator.inputs[0]))[-1]
    if made == taken and _moves_by_one(operator):
        turned = np.ascontiguousarray(weights[None, ::-1, ::-1])
        _by_convolution(back, operator, gradient, "DEPTHWISE_CONV_2D", turned)
        return
    full = np.zeros((made, height, width, taken), np.float32)
    for channel in range(made):
        full[channel, :, :, channel * taken // made] = weights[:, :, channel]
    _full(back, operator, gradient, full)


def _full(back: Backward, operator: Any, gradient: int, weights: Array) -> None:
    """``weights``: (output channels, height, width, input channels) of the forward pass."""
    if _moves_by_one(operator):
        turned = np.ascontiguousarray(weights[:, ::-1, ::-1].transpose(3, 1, 2, 0))
        _by_convolution(back, operator, gradient, "CONV_2D", turned)
        return
    options, source = operator.builtinOptions, int(operator.inputs[0])
    if _dilation(operator) != (1, 1):
        raise Refused(f"a dilated {back.file.name(operator)} that moves by several pixels")
    shape = back.shape(source)
    turned = np.ascontiguousarray(weights.transpose(3, 1, 2, 0))
    inputs = (back.file.integers(shape), back.file.constant(turned), gradient)
    made = back.file.op(
        "TRANSPOSE_CONV", inputs, shape, options="TransposeConvOptions", padding=options.padding,
        strideW=options.strideW, strideH=options.strideH,
    )  # fmt: skip
    back.add(source, made)


def _by_convolution(back: Backward, operator: Any, gradient: int, name: str, turned: Array) -> None:
    """With the kernel ``turned`` round, over the gradient in as many zeros as it reaches beyond."""
    source, shape = int(operator.inputs[0]), back.shape(int(operator.inputs[0]))
    before, after = [0], [0]
    for n, made, k, d in zip(
        shape[1:3], back.shape(gradient)[1:3], turned.shape[1:3], _dilation(operator), strict=True
    ):
        reach = (k - 1) * d
        pad = (made + reach - n) // 2  # what the forward pass puts in front
        before.append(reach - pad)
        after.append(n + reach - made - (reach - pad))
    wide = back.padded(gradient, (*before, 0), (*after, 0))
    rows, columns = _dilation(operator)
    bias = back.file.constant(np.zeros(shape[-1], np.float32))
    values: dict[str, Any] = {"depthMultiplier": 1} if name == "DEPTHWISE_CONV_2D" else {}
    table = "DepthwiseConv2DOptions" if values else "Conv2DOptions"
    made = back.file.op(
        name, (wide, back.file.constant(turned), bias), shape, options=table, padding=_VALID,
        strideW=1, strideH=1, dilationHFactor=rows, dilationWFactor=columns, **values,
    )  # fmt: skip
    back.add(source, made)


def _moves_by_one(operator: Any) -> bool:
    return (operator.builtinOptions.strideH, operator.builtinOptions.strideW) == (1, 1)


def _dilation(operator: Any) -> tuple[int, int]:
    options = operator.builtinOptions
    return getattr(options, "dilationHFactor", 1), getattr(options, "dilationWFactor", 1)


def average_pool(back: Backward, operator: Any, gradient: int) -> None:
    options, source = operator.builtinOptions, int(operator.inputs[0])
    shape, size = back.shape(source), (options.filterHeight, options.filterWidth)
    if options.padding != _VALID:
        raise Refused("AVERAGE_POOL_2D with padding")
    if size == (options.strideH, options.strideW):
        share = back.times(gradient, back.file.floats(1 / math.prod(size)))
        _with_rest(back, source, _repeated(back, share, size))
        return
    channels = shape[-1]
    weights = np.zeros((channels, *size, channels), np.float32)
    weights[range(channels), :, :, range(channels)] = 1 / math.prod(size)
    _full(back, operator, gradient, weights)


def max_pool(back: Backward, operator: Any, gradient: int) -> None:
    """To the largest values of each window, in equal parts where several are equal."""
    options, source = operator.builtinOptions, int(operator.inputs[0])
    size = (options.filterHeight, options.filterWidth)
    if size != (options.strideH, options.strideW):
        raise Refused("MAX_POOL_2D whose windows overlap or leave gaps")
    made, shape = back.shape(gradient), back.shape(source)
    covered = (1, made[1] * size[0], made[2] * size[1], made[3])
    if covered[1] > shape[1] or covered[2] > shape[2]:
        raise Refused("MAX_POOL_2D with padding")
    seen = source if covered == shape else back.cut(source, (0, 0, 0, 0), covered)
    mask = back.truth("EQUAL", seen, _repeated(back, int(operator.outputs[0]), size))
    share = back.file.op(
        "AVERAGE_POOL_2D", (mask,), made, options="Pool2DOptions", padding=_VALID,
        strideH=size[0], strideW=size[1], filterHeight=size[0], filterWidth=size[1],
    )  # fmt: skip
    count = back.times(share, back.file.floats(math.prod(size)))
    inputs = (count, back.file.floats(1.0))  # none is largest where a fused activation clips
    count = back.file.op("MAXIMUM", inputs, made, options="MaximumMinimumOptions")
    found = back.times(_repeated(back, back.both("DIV", gradient, count), size), mask)
    _with_rest(back, source, found)


def _with_rest(back: Backward, source: int, found: int) -> None:
    """What no window covers has no gradient."""
    sizes = zip(back.shape(source), back.shape(found), strict=True)
    back.add(source, back.padded(found, (0, 0, 0, 0), tuple(n - m for n, m in sizes)))


def _repeated(back: Backward, index: int, size: tuple[int, int]) -> int:
    """Each value of (1, height, width, channels) for a whole window."""
    _, height, width, channels = back.shape(index)
    for rows, times, columns in (
        (height, size[0], width * channels),
        (height * size[0] * width, size[1], channels),
    ):
        flat = back.reshaped(index, (rows, 1, columns))
        inputs = (flat, back.file.integers((1, times, 1)))
        index = back.file.op("TILE", inputs, (rows, times, columns), options="TileOptions")
    return back.reshaped(index, (1, height * size[0], width * size[1], channels))
