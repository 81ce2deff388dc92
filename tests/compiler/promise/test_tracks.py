"""The drift test where images come a track at a time, and how run lengths are measured."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.bench.redraws import ROWS_OF_A_TRACK, track_scores
from edgemon.compiler.promise.drift.choice import (
    FittedDrift,
    _stream,
    fit_drift,
    measure_run_length,
)
from edgemon.compiler.promise.drift.detector import UNIT, DriftReference, DriftTest
from edgemon.compiler.promise.drift.guard import SURE, _alike


def fitted(count: int, seed: int, run_length: int, *, grouped: bool) -> FittedDrift:
    scores, groups = track_scores(count, np.random.default_rng(seed))
    found = fit_drift(
        scores, float(np.quantile(scores, 0.95)), 0, run_length=run_length, confidence=0.95,
        seed=seed, groups=groups if grouped else None,
    )  # fmt: skip
    assert found is not None
    return found


def test_streams_of_whole_tracks_keep_the_promised_run_length() -> None:
    """Taken as independent images they raised a flag long before."""
    new, groups = track_scores(2000, np.random.default_rng(99))
    early = measure_run_length(fitted(300, 0, 300, grouped=False).test, new, 0, groups)
    assert early["run_length"] < 300
    found = fitted(300, 0, 300, grouped=True)
    assert found.largest_group == ROWS_OF_A_TRACK
    kept = measure_run_length(found.test, new, 0, groups)
    assert kept["run_length"] is None or kept["run_length"] > 300


def test_drift_in_tracks_is_still_seen() -> None:
    found = fitted(1000, 1, 10_000, grouped=True)
    new, groups = track_scores(2000, np.random.default_rng(98))
    measured = measure_run_length(found.test, new + np.float32(2), 0, groups)
    assert measured["run_length"] < 30 * ROWS_OF_A_TRACK


@pytest.mark.parametrize("run_length", [1, 10, 10_000])
def test_a_run_length_is_measured_as_the_stream_runs(run_length: int) -> None:
    """Streams began anew after as many images as were promised: 1,021 for 209."""
    rng = np.random.default_rng(5)
    test = DriftTest(
        0, np.array([0.0, 1.0], np.float32),
        np.array([[-UNIT // 4, UNIT // 8, UNIT], [UNIT // 5, -UNIT // 3, 0]], np.int32),
        4 * UNIT, run_length,
    )  # fmt: skip
    scores = rng.normal(size=500).astype(np.float32)
    measured = measure_run_length(test, scores, 3)
    order = _stream(len(scores), None, np.random.default_rng(3))[: measured["images"]]
    state, flags = DriftReference(test), 0
    for score in scores[order[:30_000]]:
        state.update(np.array([score]), np.zeros(1, bool))
        if state.flagged_at:
            flags, state = flags + 1, DriftReference(test)
    share = min(30_000, measured["images"]) / measured["images"]
    assert flags == pytest.approx(measured["flags"] * share, rel=0.15)


def test_a_stream_of_groups_keeps_their_rows_together_and_in_order() -> None:
    groups = np.array([7, 3, 7, 3, 3, 9])
    found = _stream(6, groups, np.random.default_rng(0))
    whole = {7: [0, 2], 3: [1, 3, 4], 9: [5]}
    at = 0
    while at < 10_000:
        own = whole[int(groups[found[at]])]
        assert found[at : at + len(own)].tolist() == own
        at += len(own)
    assert np.unique(found).size == 6


def test_alike_rows_are_not_called_unlike_however_many_they_are() -> None:
    """A flag on many clean rows was taken for a difference: in 29 of 40 redraws."""
    rng = np.random.default_rng(0)
    found = [_alike(*_rows(rng, 0.0), seed) for seed in range(60)]
    assert sum(p is not None and p < SURE for p in found) <= 1
    assert (_alike(*_rows(rng, 0.2), 0) or 1) < SURE
    groups = np.arange(20_000) // 200  # 100 groups that are one row each
    a, b = (np.repeat(rng.normal(size=100), 200) for _ in range(2))
    assert (_alike(a, groups, b, groups, 0) or 0) > SURE > (_alike(a, None, b, None, 0) or 0)


def _rows(rng: np.random.Generator, shift: float) -> tuple[np.ndarray, None, np.ndarray, None]:
    return rng.normal(size=20_000), None, rng.normal(shift, size=20_000), None
