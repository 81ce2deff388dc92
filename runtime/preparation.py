"""Images into the classifier's input, as ``preprocess.to_input`` defines it, without its cost."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime import _native
from edgemon.runtime.errors import InputError
from edgemon.runtime.preprocess import InputSpec, Preprocess, image_shape, to_input

Array = npt.NDArray[Any]

FILLED = ("int8", "uint8", "int16", "float32")  # dtypes of inputs that C fills
MOST_VALUES = 1 << 26  # of an input, of which metadata can say anything
MOST_ZERO = 1 << 31
MOST_CHANNELS = 64  # with a table each: 64 kB at most
LEVELS = 256  # of a uint8


class Preparation:
    """``to_input`` of one image after the other, bit for bit and with its errors.

    An array of uint8, float32 or float64 that is contiguous and has the input's shape, or is flat,
    goes through C: uint8 by a table of what each of its 256 values becomes, made by ``to_input``
    itself. Everything else, and every image that is refused, goes through ``to_input``.
    """

    def __init__(self, preprocess: Preprocess, spec: InputSpec) -> None:
        self._preprocess, self._spec = preprocess, spec
        self._out: Array = np.zeros(0, np.uint8)
        self._native = self._filler()

    @property
    def is_fast(self) -> bool:
        """Can C fill this input?"""
        return self._native is not None

    def __call__(self, image: npt.ArrayLike) -> Array:
        """The input tensor of an image, in memory that the next call overwrites."""
        # Subclasses, such as masked arrays, have meanings of their own.
        if type(image) is np.ndarray and self._native is not None and self._native.fill(image):
            return self._out
        return to_input(image, self._preprocess, self._spec)

    def _filler(self) -> _native.Preparation | None:
        """None where the steps or the input are none that C knows."""
        steps, spec = self._preprocess, self._spec
        layout = steps.layout_of(spec)
        shape = image_shape(spec.shape, layout)
        planar = layout == "nchw" and len(shape) == 3
        reverse = steps.channels == "bgr"
        each = max(len(steps.mean), len(steps.std), 1)
        if (
            spec.dtype not in FILLED
            or steps.resize is not None
            or steps.channels == "gray"
            or (reverse and len(shape) != 3)
            or not 1 <= len(shape) <= 8
            or min(shape) < 1
            or math.prod(shape) > MOST_VALUES
            or not math.isfinite(spec.scale)
            or abs(spec.zero_point) > MOST_ZERO
        ):
            return None
        channels = shape[-1] if planar or reverse or each > 1 else 1
        if channels > MOST_CHANNELS or any(
            len(v) not in (0, 1, channels) for v in (steps.mean, steps.std)
        ):
            return None
        try:
            table = _levels(steps, spec, channels)
        except InputError:  # not all of the 256 values stay finite
            return None
        self._out = np.zeros(spec.tensor_shape, spec.dtype)
        with np.errstate(over="ignore"):
            mean, std = (
                np.resize(np.array(values or (default,), np.float32), channels)
                for values, default in ((steps.mean, 0.0), (steps.std, 1.0))
            )
        return _native.Preparation(
            shape, self._out, table, mean, std,
            steps.scale, steps.offset if steps.offset else -0.0,
            spec.scale, spec.zero_point, reverse, planar,
        )  # fmt: skip


def _levels(steps: Preprocess, spec: InputSpec, channels: int) -> Array:
    """What each uint8 becomes in each channel, (channels, 256)."""
    levels = np.repeat(np.arange(LEVELS, dtype=np.uint8), channels).reshape(LEVELS, 1, channels)
    with np.errstate(all="ignore"):
        found = to_input(
            levels,
            replace(steps, channels="asis", layout="nhwc"),
            replace(spec, shape=levels.shape, layout="nhwc", batch=False),
        )
    return np.ascontiguousarray(found.reshape(LEVELS, channels).T)
