"""The left-right mirrored image, a second input of the classifier.

Mirroring reverses the width axis of the input tensor, after all preprocessing (FORMAT.md,
section 5).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.errors import InputError
from edgemon.runtime.onnx_classifier import FEW_CHANNELS
from edgemon.runtime.preprocess import InputSpec, Preprocess

Array = npt.NDArray[Any]


def width_axis(spec: InputSpec, preprocess: Preprocess) -> int:
    """The axis of an input tensor (with its batch axis, 0) that mirroring reverses. Raises
    InputError for an input that is no image, and where the axis could be another one."""
    shape = spec.shape
    what = f"the model's input {spec.name!r} of shape {shape}"
    if len(shape) not in (2, 3) or sum(n > 1 for n in shape) < 2:
        raise InputError(
            f"{what} is not an image and has no left and right, so it cannot be mirrored"
        )
    layout = preprocess.layout_of(spec)
    looks_first = len(shape) == 3 and shape[0] <= FEW_CHANNELS < shape[2]
    if layout == "nhwc" and looks_first and preprocess.layout == "auto":
        raise InputError(
            f"{what} may have its channels first or last, so that its width is not known: declare "
            "--preprocess layout=nchw or layout=nhwc"
        )
    axis = 3 if layout == "nchw" and len(shape) == 3 else 2
    if shape[axis - 1] == 1:
        raise InputError(f"{what} is one pixel wide: there is nothing to mirror")
    return axis


def mirrored(x: Array, axis: int) -> Array:
    """The input tensor with this axis reversed."""
    return np.ascontiguousarray(np.flip(x, axis))
