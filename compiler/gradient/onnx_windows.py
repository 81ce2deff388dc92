"""Backward rules of ONNX operators that slide over an image: convolutions and pools."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from edgemon.compiler.gradient.onnx_backward import Backward, given
from edgemon.compiler.gradient.onnx_writer import Shape
from edgemon.compiler.gradient.refused import Refused


@dataclass(frozen=True)
class Windows:
    """Where the windows of a forward operator lie, by axis of the image. ``before`` and ``after``
    may be padding that the file leaves to ``auto_pad``."""

    taken: Shape
    made: Shape
    size: Shape
    strides: Shape
    dilations: Shape
    before: Shape
    after: Shape

    @classmethod
    def of(cls, node: Any, source: Shape, made: Shape, size: Shape) -> Windows:
        """``source`` and ``made``: shapes of input and output, (1, channels, ...)."""
        taken, steps = source[2:], len(source) - 2
        values = given(
            node, auto_pad=b"NOTSET", strides=[1] * steps, dilations=[1] * steps,
            pads=[0] * 2 * steps,
        )  # fmt: skip
        strides, dilations = tuple(values["strides"]), tuple(values["dilations"])
        kind, pads = values["auto_pad"].decode(), values["pads"]
        if kind.startswith("SAME"):
            axes = zip(taken, made[2:], size, strides, dilations, strict=True)
            total = [max((o - 1) * s + (k - 1) * d + 1 - n, 0) for n, o, k, s, d in axes]
            less, more = [n // 2 for n in total], [n - n // 2 for n in total]
            pads = [*less, *more] if kind == "SAME_UPPER" else [*more, *less]
        elif kind == "VALID":
            pads = [0] * 2 * steps
        return cls(
            taken, made[2:], size, strides, dilations, tuple(pads[:steps]), tuple(pads[steps:])
        )

    def transposed(self) -> dict[str, Any]:
        """Attributes of the transposed convolution that gives back the shape that was taken."""
        over = [
            n - ((o - 1) * s + (k - 1) * d + 1 - a - b)
            for n, o, k, s, d, a, b in zip(
                self.taken, self.made, self.size, self.strides, self.dilations, self.before,
                self.after, strict=True,
            )
        ]  # fmt: skip
        after = [b + max(-e, 0) for b, e in zip(self.after, over, strict=True)]
        return {
            "kernel_shape": self.size, "strides": self.strides, "dilations": self.dilations,
            "pads": [*self.before, *after], "output_padding": [max(e, 0) for e in over],
        }  # fmt: skip

    def counts(self) -> np.ndarray[Any, np.dtype[np.float32]]:
        """(1, 1, ...) of what is made: how many values each window takes, padding left out."""
        found = np.ones((1, 1), np.float32)
        for n, o, k, s, d, a in zip(
            self.taken, self.made, self.size, self.strides, self.dilations, self.before,
            strict=True,
        ):  # fmt: skip
            at = np.arange(o)[:, None] * s + np.arange(k) * d - a
            found = found[..., None] * ((at >= 0) & (at < n)).sum(axis=1).astype(np.float32)
        return found


def convolution(back: Backward, node: Any, gradient: str) -> None:
    back.require_still(node, 1)
    source, weights = node.input[0], node.input[1]
    windows = Windows.of(node, back.shape(source), back.shape(node.output[0]),
                         back.shape(weights)[2:])  # fmt: skip
    groups = given(node, group=1)["group"]
    made = back.op(
        "ConvTranspose", (gradient, weights), back.shape(source), group=groups,
        **windows.transposed(),
    )  # fmt: skip
    back.add(source, made)


def average_pool(back: Backward, node: Any, gradient: str) -> None:
    source = node.input[0]
    shape = back.shape(source)
    values = given(node, ceil_mode=0, count_include_pad=0)
    if values["ceil_mode"]:
        raise Refused("AveragePool with ceil_mode")
    size = tuple(values["kernel_shape"])
    windows = Windows.of(node, shape, back.shape(node.output[0]), size)
    apart = any(
        s > (k - 1) * d + 1
        for k, s, d in zip(windows.size, windows.strides, windows.dilations, strict=True)
    )
    if apart and given(node, auto_pad=b"NOTSET")["auto_pad"].startswith(b"SAME"):
        raise Refused("AveragePool of windows that lie apart, with auto_pad")
    counts = windows.counts()
    if values["count_include_pad"]:
        counts = np.full_like(counts, math.prod(size))
    share = back.times(gradient, back.file.constant(1 / counts))
    ones = back.file.constant(np.ones((shape[1], 1, *size), np.float32))
    made = back.op("ConvTranspose", (share, ones), shape, group=shape[1], **windows.transposed())
    back.add(source, made)


def max_pool(back: Backward, node: Any, gradient: str) -> None:
    """To the first of the largest values of each window, which the operator itself can name."""
    if given(node, storage_order=0)["storage_order"]:
        raise Refused("MaxPool with storage_order")
    _scatter(back, node, node, gradient)


def global_max_pool(back: Backward, node: Any, gradient: str) -> None:
    """As a pool of one window."""
    source, made = node.input[0], node.output[0]
    size = back.shape(source)[2:]
    back.op("MaxPool", (source,), back.shape(made), kernel_shape=size)
    _scatter(back, node, back.file.graph.node[-1], gradient)


def _scatter(back: Backward, node: Any, pool: Any, gradient: str) -> None:
    """``pool`` names where the values of ``node`` come from, in the flat input."""
    if len(pool.output) == 1:
        pool.output.append(back.file.name())
    at, source = pool.output[1], node.input[0]
    count, made = math.prod(back.shape(source)), math.prod(back.shape(gradient))
    back.file.shapes[at] = back.shape(gradient)
    zeros = back.op("ConstantOfShape", (back.file.integers([count]),), (count,))
    inputs = (zeros, back.reshaped(at, (made,)), back.reshaped(gradient, (made,)))
    found = back.op("ScatterElements", inputs, (count,), axis=0, reduction="add")
    back.add(source, back.reshaped(found, back.shape(source)))
