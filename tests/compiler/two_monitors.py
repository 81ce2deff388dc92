"""Two monitors of one kind of score, of which a drift test or a table of accuracy watches one."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from edgemon.compiler.accuracy.table import AccuracyTable
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
    assert b.value(score).dtype == dtype
    monitors = [Monitor(name, score, 0, 0) for name in ("first", "second")]
    made = flat.Artifact(b.program(predicted, monitors), "5a" * 32, {}, None, drift, table)
    return flat.write(made)


def numbers(dtype: str) -> Any:
    """Scores of a type."""
    if dtype == "float32":
        return st.floats(width=32, allow_nan=False, allow_infinity=False)
    info = np.iinfo(dtype)
    return st.integers(int(info.min), int(info.max))


def evaluation(found: Any, faults: Any, watched: int) -> Evaluation:
    """Rows of two monitors; the one that is not watched has other scores and never a fault."""
    verdicts = np.zeros((len(found), 2), np.uint8)
    verdicts[faults, watched] = Verdict.FAULT
    both = [found[::-1].copy(), found[::-1].copy()]
    both[watched] = found
    none = np.zeros(len(found), np.int32)
    return Evaluation(verdicts.max(axis=1), none, none, verdicts, tuple(both))
