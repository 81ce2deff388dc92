from __future__ import annotations

import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.monitors.shared import vectors
from edgemon.compiler.monitors.shared.vectors import joined_values, log_odds_against
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from tests.compiler.recordings import make_recording


def test_log_odds_against_the_answer_of_one_output_unit() -> None:
    """Which is an ``exceeds`` node: of two classes, the other one speaks against it."""
    b = Builder([Tap("scores", "float32", 2), Tap("unit", "float32", 1)], real=True)
    predicted = b.node("exceeds", 1, tables=[np.zeros(1)])
    score = log_odds_against(b, 0, predicted)
    program = b.program(predicted, [Monitor("m", score, 0.0, 0.0)])
    scores = np.random.default_rng(0).normal(0, 3, (40, 2))
    unit = np.random.default_rng(1).normal(0, 1, (40, 1))
    found = reference.run_real(program, [scores, unit])[score][:, 0]
    other = (unit[:, 0] <= 0).astype(int)
    expected = scores[np.arange(40), other] - scores[np.arange(40), 1 - other]
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_features_of_several_taps_take_no_more_memory_than_they_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_recording(tmp_path, "float32", 5000, 3)
    taps = ("logits", "features")
    whole = np.concatenate([rows.features(name) for name in taps], axis=1)
    monkeypatch.setattr(vectors, "BLOCK_ELEMENTS", 999)  # divides nothing
    assert (joined_values(rows, taps) == whole).all()
    assert (joined_values(rows, taps, np.float32) == whole.astype(np.float32)).all()
    tracemalloc.start()
    try:
        joined_values(rows, taps)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.3 * whole.nbytes, peak / whole.nbytes  # at once: twice as much
