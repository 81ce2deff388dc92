"""Images as the classifier sees them, brought to [0, 1]."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.alocc.export import Ends
from edgemon.bench.errors import BenchError
from edgemon.compiler.data.loading import Dataset
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input

BLOCK = 256  # rows in memory at a time


def inputs(data: Dataset, preprocess: Preprocess, spec: InputSpec) -> npt.NDArray[Any]:
    """(n, h, w, c): the classifier's input tensors. Raises BenchError unless rows are images of
    bytes, channels last."""
    if len(spec.tensor_shape) != 4 or spec.tensor_shape[3] not in (1, 3):
        raise BenchError(
            f"alocc: the model's input is {list(spec.tensor_shape)}; it redraws images, "
            "[1, height, width, 1 or 3]"
        )
    found = []
    for block in data.blocks(BLOCK):
        if block.dtype != np.uint8:
            raise BenchError(f"alocc: the rows are {block.dtype}; it redraws images of bytes")
        found += [to_input(image, preprocess, spec)[0] for image in block]
    return np.stack(found)


def ends_of(sample: npt.NDArray[Any], preprocess: Preprocess, spec: InputSpec) -> Ends:
    """``sample``: one image. Raises BenchError where pixels have several scales."""
    black, white = (
        real(to_input(np.full_like(sample, v), preprocess, spec), spec) for v in (0, 255)
    )
    if np.ptp(black) or np.ptp(white) or white.flat[0] <= black.flat[0]:
        raise BenchError("alocc: the preprocessing differs by channel, or turns white into black")
    return Ends(float(black.flat[0]), float(white.flat[0]), spec.dtype)


def real(codes: npt.NDArray[Any], spec: InputSpec) -> npt.NDArray[np.float64]:
    """What input tensors mean."""
    if codes.dtype.kind == "f" or not spec.scale:
        return codes.astype(np.float64)
    found: npt.NDArray[np.float64] = (codes.astype(np.float64) - spec.zero_point) * spec.scale
    return found
