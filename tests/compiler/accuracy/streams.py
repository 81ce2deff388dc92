"""Tables of accuracy, and scores on their edges."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from edgemon.compiler.accuracy.table import UNIT, AccuracyTable
from tests.compiler.two_monitors import numbers


@st.composite
def tables(draw: st.DrawFn, dtype: str) -> AccuracyTable:
    """Whatever the format permits; small windows, so that they turn."""
    stored = "float32" if dtype == "float32" else "int64"
    edges = np.unique(np.array(draw(st.lists(numbers(dtype), min_size=1, max_size=63)), stored))
    share = st.sampled_from([0, 1, UNIT - 1, UNIT]) | st.integers(0, UNIT)
    found = draw(st.lists(share, min_size=len(edges) + 1, max_size=len(edges) + 1))
    return AccuracyTable(
        draw(st.integers(0, 1)), edges, np.sort(np.array(found, np.uint16))[::-1].copy(),
        draw(st.integers(1, (1 << 32) - 1)), draw(st.integers(0, (1 << 32) - 1)),
        draw(st.integers(64, 90) | st.just(1 << 20)), draw(st.integers(8, 40)),
    )  # fmt: skip


def scores(draw: st.DrawFn, edges: Any, dtype: str) -> Any:
    """Raw scores of which many lie on edges."""
    near = st.sampled_from(edges.tolist()) | numbers(dtype)
    return np.array(draw(st.lists(near, min_size=1, max_size=200)), dtype)
