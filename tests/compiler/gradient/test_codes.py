"""Codes that an input takes, and the real values that its float source takes."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.gradient.codes import Codes
from edgemon.runtime.preprocess import Preprocess

IMAGE = np.random.default_rng(0).integers(0, 255, (4, 5, 3)).astype(np.uint8)


@pytest.mark.parametrize(
    "preprocess",
    [
        Preprocess(), Preprocess(scale=0.5, offset=-3),
        Preprocess(scale=0.5, mean=(0.1, 0.2, 0.3), std=(2.0,)),
        Preprocess(mean=(0.5,), std=(0.1, 0.2, 0.3), channels="bgr"), Preprocess(std=(4.0,)),
    ],
)  # fmt: skip
def test_reals_are_what_the_codes_mean(preprocess: Preprocess) -> None:
    codes = Codes(0.25, -7)
    wanted = codes.scale * (preprocess.apply(IMAGE).astype(np.float64) - codes.zero_point)
    found = codes.reals(preprocess).apply(IMAGE)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-4)
