"""The drift test: reference and C agree, the section is read back, and the promise holds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError
from edgemon.compiler.promise.drift.choice import (
    MORE_ALARMS,
    fit_drift,
    measure_run_length,
    require_run_length,
)
from edgemon.compiler.promise.drift.detector import LARGEST, UNIT, DriftReference, DriftTest
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.runtime.drift import Drift
from edgemon.runtime.monitor import Monitor as LoadedMonitor
from tests.compiler.two_monitors import DTYPES, artifact, evaluation, numbers

CONFIDENCE = 0.95


@st.composite
def streams(draw: st.DrawFn) -> tuple[DriftTest, str, Any, Any]:
    """A test, and raw scores of which many lie on its edges; faults among them."""
    dtype = draw(st.sampled_from(DTYPES))
    some = numbers(dtype)
    stored = "float32" if dtype == "float32" else "int64"
    edges = np.unique(np.array(draw(st.lists(some, min_size=1, max_size=31)), stored))
    size = st.sampled_from([0, 1, UNIT, LARGEST]) | st.integers(0, LARGEST)
    signed = st.tuples(size, st.sampled_from([-1, 1])).map(lambda p: p[0] * p[1])
    rows = st.lists(signed, min_size=len(edges), max_size=len(edges))
    increments = [
        [-1 - abs(draw(size)) % LARGEST, *draw(rows)] for _ in range(draw(st.integers(1, 16)))
    ]
    test = DriftTest(
        draw(st.integers(0, 1)), edges, np.array(increments, np.int32),
        draw(st.integers(1, LARGEST)), 10_000,
    )  # fmt: skip
    on_edge = st.sampled_from(edges.tolist())
    if dtype == "float32":
        on_edge = on_edge | on_edge.map(lambda e: float(np.nextafter(np.float32(e), np.float32(0))))
    scores = np.array(draw(st.lists(on_edge | some, min_size=1, max_size=60)), dtype)
    faults = np.array(draw(st.lists(st.booleans(), min_size=len(scores), max_size=len(scores))))
    return test, dtype, scores, faults & np.array([i % 3 == 0 for i in range(len(scores))])


@settings(max_examples=150, deadline=None)
@given(streams())
def test_c_and_reference_keep_the_same_sums(stream: tuple[DriftTest, str, Any, Any]) -> None:
    test, dtype, scores, faults = stream
    reference, c = DriftReference(test), Drift(LoadedMonitor(artifact(None, dtype, test)))
    for at in range(len(scores)):
        own = slice(at, at + 1)
        reference.update(scores[own], faults[own])
        c.update(evaluation(scores[own], faults[own], test.monitor))
        assert reference.state == c.state
    whole = Drift(LoadedMonitor(artifact(None, dtype, test)))
    whole.update(evaluation(scores, faults, test.monitor))
    assert whole.state == c.state
    assert c.state.images == len(scores)
    assert c.state.faults == faults.sum()
    c.reset()
    assert (c.state.images, c.state.flag, set(c.state.sums)) == (0, False, {0})


@settings(max_examples=50, deadline=None)
@given(streams())
def test_the_section_is_read_back(stream: tuple[DriftTest, str, Any, Any]) -> None:
    test, dtype, _, _ = stream
    data = artifact(None, dtype, test)
    found = flat.read(data).drift
    assert found is not None
    assert (found.monitor, found.limit, found.run_length) == (test.monitor, test.limit, 10_000)
    assert found.edges.dtype == test.edges.dtype
    np.testing.assert_array_equal(found.edges, test.edges)
    np.testing.assert_array_equal(found.increments, test.increments)
    assert flat.write(flat.read(data)) == data
    info = LoadedMonitor(data).drift
    assert info is not None
    assert (info.monitor, info.limit) == (test.monitor, test.limit)
    assert (info.alternatives, info.bins) == test.increments.shape


def test_not_a_number_is_a_fault() -> None:
    test = DriftTest(0, np.zeros(1, np.float32), np.array([[-UNIT, UNIT]], np.int32), 5 * UNIT, 100)
    scores = np.array([1, np.nan, 2, np.inf, 3], np.float32)
    reference, c = DriftReference(test), Drift(LoadedMonitor(artifact(None, "float32", test)))
    reference.update(scores, np.zeros(5, bool))
    c.update(evaluation(scores, np.zeros(5, bool), 0))
    assert reference.state == c.state
    assert (c.state.faults, c.state.sums) == (2, (3 * UNIT,))
    c.update_faults(2)
    assert (c.state.images, c.state.faults) == (7, 4)


def test_without_a_section_nothing_is_flagged() -> None:
    monitor = LoadedMonitor(artifact(None, "int32"))
    stream = Drift(monitor)
    stream.update(evaluation(np.full(50, 2**30, np.int32), np.zeros(50, bool), 0))
    assert monitor.drift is None
    assert (stream.state.images, stream.state.flag, stream.state.sums) == (50, False, ())
    assert flat.read(artifact(None, "int32")).drift is None


def normal(count: int, seed: int, mean: float = 0.0, spread: float = 1.0) -> Any:
    return np.random.default_rng(seed).normal(mean, spread, count).astype(np.float32)


def fitted(scores: Any, seed: int = 0, run_length: int = 10_000) -> Any:
    alarm = FalseAlarmPromise(0.1).threshold(scores)
    found = fit_drift(
        scores, alarm, 0, run_length=run_length, confidence=CONFIDENCE, seed=seed
    )  # fmt: skip
    assert found is not None
    assert alarm in found.test.edges
    return found


def test_the_promise_holds_as_often_as_stated() -> None:
    """Of uniform scores every share is known: the mean of the exponential of an increment may be
    above 1, for any alternative, in 5 % of fits. The alarm threshold is one of the edges and was
    chosen on the same rows, which the proof leaves aside."""
    fits, broken = 300, 0
    for seed in range(fits):
        scores = np.random.default_rng(seed).random(500).astype(np.float32)
        test = fitted(scores, seed).test
        shares = np.diff(np.concatenate([[0.0], test.edges.astype(np.float64), [1.0]]))
        means = np.exp(test.increments / UNIT) @ shares
        broken += bool((means > 1).any())
        assert test.limit >= UNIT * np.log(10_000 * len(means))
    assert broken <= binom.ppf(0.999, fits, 1 - CONFIDENCE)


@pytest.mark.parametrize(
    ("change", "within"),
    [
        ({"mean": 2.0}, 40),
        ({"mean": -2.0}, 40),
        ({"spread": 3.0}, 150),
        ({"spread": 0.2}, 150),
    ],
)
def test_a_change_of_the_scores_is_seen_soon(change: dict[str, float], within: int) -> None:
    stream = DriftReference(fitted(normal(2000, 1)).test)
    before = 200
    stream.update(
        np.concatenate([normal(before, 2), normal(500, 3, **change)]), np.zeros(700, bool)
    )
    assert before < stream.state.flagged_at <= before + within
    assert abs(stream.state.since - before) < within


def test_doubled_alarms_alone_are_seen() -> None:
    """What counts is on which side of the threshold a score lies: within both sides all is as it
    was."""
    found = fitted(normal(4000, 1))
    alarm = FalseAlarmPromise(0.1).threshold(normal(4000, 1))
    clean = normal(200_000, 4)
    above, below = clean[clean > alarm], clean[clean <= alarm]
    rate = 3 * len(above) / len(clean)
    rng = np.random.default_rng(5)
    mixed = np.where(rng.random(2000) < rate, rng.choice(above, 2000), rng.choice(below, 2000))
    stream = DriftReference(found.test)
    stream.update(mixed, np.zeros(2000, bool))
    assert 0 < stream.state.flagged_at < 400
    assert MORE_ALARMS in found.alternatives


def test_false_flags_are_as_rare_as_promised() -> None:
    found = fitted(normal(1000, 1), run_length=500)
    measured = measure_run_length(found.test, normal(50_000, 6), 0)
    assert measured["run_length"] > 500
    low, high = measured["interval"]
    assert low < measured["run_length"] < high
    drifted = measure_run_length(found.test, normal(50_000, 6, mean=1.0), 0)
    assert drifted["run_length"] < 100


def test_coarse_scores_and_few_rows() -> None:
    two = np.random.default_rng(0).integers(0, 2, 1000).astype(np.int32)
    found = fit_drift(two, 1, 0, run_length=1000, confidence=CONFIDENCE, seed=0)
    assert found is not None
    assert found.test.edges.dtype == np.int64
    one = fit_drift(two * 0, 0, 0, run_length=1000, confidence=CONFIDENCE, seed=0)
    assert one is None or len(one.test.edges) == 1
    assert fit_drift(two[:40], 1, 0, run_length=1000, confidence=CONFIDENCE, seed=0) is None


def test_images_are_counted_to_their_end() -> None:
    test = DriftTest(0, np.zeros(1, np.int64), np.array([[-1, 1]], np.int32), 10, 100)
    stream = DriftReference(test)
    stream.images = (1 << 32) - 2
    stream.update(np.ones(3, np.int32), np.zeros(3, bool))
    assert stream.images == (1 << 32) - 1
    assert stream.state.sums == (3,)


@pytest.mark.parametrize("images", [-1, 1 << 32])
def test_a_run_length_beyond_counting_is_refused(images: int) -> None:
    with pytest.raises(CompileError, match="--drift-run-length"):
        require_run_length(images)


def test_a_flag_on_an_edge_of_the_limit() -> None:
    """The limit itself raises the flag; one below it does not."""
    test = DriftTest(0, np.zeros(1, np.int64), np.array([[-1, 5]], np.int32), 10, 100)
    for limit, flagged_at in ((10, 2), (11, 3)):
        stream = DriftReference(replace(test, limit=limit))
        stream.update(np.ones(3, np.int32), np.zeros(3, bool))
        assert stream.state.flagged_at == flagged_at
