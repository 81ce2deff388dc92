"""Backward rules of ONNX operators that only arrange values."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from edgemon.compiler.gradient.onnx_backward import Backward, given
from edgemon.compiler.gradient.refused import Refused


def reshape(back: Backward, node: Any, gradient: str) -> None:
    back.add(node.input[0], back.reshaped(gradient, back.shape(node.input[0])))


def dropout(back: Backward, node: Any, gradient: str) -> None:
    """Passed over, as in inference."""
    trains = back.file.constants.get(node.input[2]) if len(node.input) > 2 else np.zeros(1)
    if trains is None or trains.any():
        raise Refused("Dropout in training mode")
    reshape(back, node, gradient)


def cast(back: Backward, node: Any, gradient: str) -> None:
    if back.file.dtypes[node.input[0]] != "float32":
        raise Refused(f"Cast of {back.file.dtypes[node.input[0]]}")
    back.add(node.input[0], gradient)


def transpose(back: Backward, node: Any, gradient: str) -> None:
    shape = back.shape(node.input[0])
    order = given(node, perm=list(range(len(shape)))[::-1])["perm"]
    back_again = np.argsort(order).tolist()
    back.add(node.input[0], back.op("Transpose", (gradient,), shape, perm=back_again))


def concat(back: Backward, node: Any, gradient: str) -> None:
    axis = given(node)["axis"] % len(back.shape(gradient))
    lengths = [back.shape(name)[axis] for name in node.input]
    for name, end, length in zip(node.input, accumulate(lengths), lengths, strict=True):
        if back.moves(name):
            back.add(name, _slice(back, gradient, [end - length], [end], [axis], back.shape(name)))


def pad(back: Backward, node: Any, gradient: str) -> None:
    pads = back.file.constants.get(node.input[1])
    shape = back.shape(node.input[0])
    if given(node, mode=b"constant")["mode"] != b"constant":
        raise Refused("Pad that is no constant")
    if pads is None or pads.size != 2 * len(shape) or (pads < 0).any():
        raise Refused("Pad by numbers that are no constants, negative, or of some axes")
    starts = pads[: len(shape)].tolist()
    ends = [s + n for s, n in zip(starts, shape, strict=True)]
    cut = _slice(back, gradient, starts, ends, list(range(len(shape))), shape)
    back.add(node.input[0], cut)


def sliced(back: Backward, node: Any, gradient: str) -> None:
    """Back into zeros."""
    shape = back.shape(node.input[0])
    found = [back.file.constants.get(name) for name in node.input[1:]]
    if any(v is None for v in found):
        raise Refused("Slice by numbers that are no constants")
    starts, ends, *rest = (v.tolist() for v in found if v is not None)
    axes = rest[0] if rest else list(range(len(starts)))
    steps = rest[1] if len(rest) > 1 else [1]
    if any(step != 1 for step in steps):
        raise Refused("Slice by steps")
    pads = [0] * 2 * len(shape)
    for axis, start, end in zip((a % len(shape) for a in axes), starts, ends, strict=True):
        first, last, _ = slice(start, end).indices(shape[axis])
        pads[axis], pads[axis + len(shape)] = first, shape[axis] - max(first, last)
    inputs = (gradient, back.file.integers(pads))
    back.add(node.input[0], back.op("Pad", inputs, shape))


def _slice(
    back: Backward, gradient: str, starts: list[int], ends: list[int], axes: list[int],
    shape: tuple[int, ...],
) -> str:  # fmt: skip
    at = (back.file.integers(starts), back.file.integers(ends), back.file.integers(axes))
    return back.op("Slice", (gradient, *at), shape)
