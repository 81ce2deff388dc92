"""The laws of the halving sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from edgemon.compiler.program.ops.sums import halving_sum


@given(st.integers(1, 70), st.data())
def test_halving_sum_is_order_fixed_and_close(n: int, data: st.DataObject) -> None:
    x = data.draw(arrays(np.float32, (1, n), elements=st.floats(-1000, 1000, width=32)))
    found = halving_sum(x)
    assert found.shape == (1, 1)
    assert found[0, 0] == pytest.approx(float(x.astype(np.float64).sum()), rel=1e-4, abs=1e-1)
    # Zeros behind the vector change nothing: that is what the padding relies on.
    assert halving_sum(np.pad(x, ((0, 0), (0, 3))))[0, 0] == pytest.approx(
        found[0, 0], rel=1e-4, abs=1e-1
    )
