"""Tables, streams and artifacts for tests."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from edgemon.compiler.accuracy.table import UNIT, AccuracyTable
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.promise.drift.detector import DriftTest
from edgemon.runtime.evaluation import Evaluation, Verdict

DTYPES = ("int32", "int64", "float32")


def artifact(table: AccuracyTable | None, dtype: str, drift: DriftTest | None = None) -> bytes:
    """Two monitors of one kind of score: int32, int64 or float32."""
    b = Builder([Tap("logits", "float32" if dtype == "float32" else "int8", 4)])
    predicted, largest = b.node("argmax", 0), b.node("max", 0)
    score = b.node("add", largest, largest) if dtype == "int64" else largest
    monitors = [Monitor(name, score, 0, 0) for name in ("first", "second")]
    made = flat.Artifact(b.program(predicted, monitors), "5a" * 32, {}, None, drift, table)
    return flat.write(made)


def numbers(dtype: str) -> Any:
    """Scores of a type."""
    if dtype == "float32":
        return st.floats(width=32, allow_nan=False, allow_infinity=False)
    info = np.iinfo(dtype)
    return st.integers(int(info.min), int(info.max))


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


def evaluation(found: Any, faults: Any, watched: int) -> Evaluation:
    """Rows of two monitors; the one that is not watched has other scores and never a fault."""
    verdicts = np.zeros((len(found), 2), np.uint8)
    verdicts[faults, watched] = Verdict.FAULT
    both = [found[::-1].copy(), found[::-1].copy()]
    both[watched] = found
    none = np.zeros(len(found), np.int32)
    return Evaluation(verdicts.max(axis=1), none, none, verdicts, tuple(both))
