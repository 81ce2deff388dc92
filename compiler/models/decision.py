"""Which class a classifier's output means."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.ir import Tap

ONE_UNIT_ABOVE = 0.5  # a single output unit means class 1 above it, whatever its activation


def predicted_class(scores: npt.NDArray[Any], output: Tap) -> npt.NDArray[np.intp]:
    """The class of each row of output codes, (..., length).

    Several scores: the position of the largest, the first on a tie. One score: 1 where its real
    value is above one half, else 0. A code's real value is exact in float64, and so is the answer.
    """
    if output.length > 1:
        return np.asarray(scores.argmax(axis=-1))
    return (output.values(scores)[..., 0] > ONE_UNIT_ABOVE).astype(np.intp)
