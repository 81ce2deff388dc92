"""The estimate of accuracy: reference and C agree to the bit, whatever comes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon.compiler.accuracy.reference import AccuracyReference
from edgemon.compiler.accuracy.table import UNIT, AccuracyTable
from edgemon.compiler.emit import flat
from edgemon.compiler.promise.drift.detector import DriftReference, DriftTest
from edgemon.runtime.accuracy import BLOCKS, MOST_LABELS, Accuracy, Basis
from edgemon.runtime.drift import Drift
from edgemon.runtime.monitor import Monitor
from tests.compiler.accuracy.streams import scores, tables
from tests.compiler.two_monitors import DTYPES, artifact, evaluation


@st.composite
def streams(draw: st.DrawFn) -> tuple[AccuracyTable, DriftTest, str, Any, Any, Any]:
    """A table and a drift test that soon flags, raw scores, faults, and labels after some rows."""
    dtype = draw(st.sampled_from(DTYPES))
    table = draw(tables(dtype))
    found = scores(draw, table.edges, dtype)
    middle = table.edges[[len(table.edges) // 2]]
    drift = DriftTest(
        table.monitor, middle, np.array([[-1, 2]], np.int32), draw(st.integers(3, 200)), 100
    )
    faults = np.array(draw(st.lists(st.booleans(), min_size=len(found), max_size=len(found))))
    labels = draw(
        st.lists(
            st.tuples(st.integers(0, len(found) - 1), st.integers(0, UNIT), st.booleans()),
            max_size=120,
        )
    )
    return table, drift, dtype, found, faults & (np.arange(len(found)) % 3 == 0), labels


@settings(max_examples=120, deadline=None)
@given(streams())
def test_c_and_reference_agree_image_by_image(stream: Any) -> None:
    table, test, dtype, found, faults, labels = stream
    monitor = Monitor(artifact(table, dtype, test))
    reference, c = AccuracyReference(table), Accuracy(monitor)
    drifts, drift = DriftReference(test), Drift(monitor)
    for at in range(len(found)):
        own = slice(at, at + 1)
        drifts.update(found[own], faults[own])
        reference.update(found[own], faults[own], drifts.flagged_at)
        c.update(evaluation(found[own], faults[own], table.monitor), drift)
        for row, probability, right in labels:
            if row == at:
                reference.label(probability, right)
                c.label(probability, right)
        assert drift.state == drifts.state
        assert reference.state == c.state
        assert reference.estimate() == c.estimate(drift)
    whole, again = Accuracy(monitor), Drift(monitor)
    whole.update(evaluation(found, faults, table.monitor), again)
    assert whole.state.blocks == c.state.blocks
    c.reset()
    estimate = c.estimate()
    assert estimate is not None
    assert (estimate.images, estimate.labels, estimate.valid) == (0, 0, False)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_the_section_is_read_back(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    table = data.draw(tables(dtype))
    written = artifact(table, dtype)
    found = flat.read(written).accuracy
    assert found is not None
    for name in ("monitor", "rows", "variance", "window", "least"):
        assert getattr(found, name) == getattr(table, name)
    assert found.edges.dtype == table.edges.dtype
    np.testing.assert_array_equal(found.edges, table.edges)
    np.testing.assert_array_equal(found.probabilities, table.probabilities)
    assert flat.write(flat.read(written)) == written
    info = Monitor(written).accuracy
    assert info is not None
    assert (info.monitor, info.steps) == (table.monitor, len(table.probabilities))
    assert (info.window, info.least, info.rows, info.variance) == (
        table.window, table.least, table.rows, table.variance,
    )  # fmt: skip


def steps(*probabilities: float, **fields: Any) -> AccuracyTable:
    """A table of whole edges 0, 1, ..."""
    values = np.array([round(p * UNIT) for p in probabilities], np.uint16)
    fields = {"rows": 1000, "variance": UNIT**2 // 10, **fields}
    return AccuracyTable(0, np.arange(len(values) - 1), values, **fields)


def both(table: AccuracyTable) -> tuple[AccuracyReference, Accuracy]:
    return AccuracyReference(table), Accuracy(Monitor(artifact(table, "int32")))


def see(pair: Any, found: Any) -> Any:
    """Counts images by both; their estimate, which is one."""
    reference, c = pair
    none = np.zeros(len(found), bool)
    reference.update(np.asarray(found, np.int32), none)
    c.update(evaluation(np.asarray(found, np.int32), none, 0))
    assert c.estimate() == reference.estimate()
    return reference.estimate()


def test_the_window_forgets_in_eighths() -> None:
    table = steps(1, 0, window=64)
    pair = both(table)
    assert see(pair, [1] * 64).accuracy == 0
    assert see(pair, [0]).images == 57  # the oldest eight of 64 went
    estimate = see(pair, [0] * 63)
    assert (estimate.images, estimate.accuracy) == (64, 1)
    sizes = {see(pair, [0]).images for _ in range(200)}
    assert sizes == set(range(57, 65))


def test_few_images_or_a_flag_make_it_invalid_and_enough_labels_since_valid() -> None:
    table = steps(0.9, 0.4)
    reference = AccuracyReference(table)
    few = np.zeros(29, np.int32)
    reference.update(few, np.zeros(29, bool))
    assert not reference.estimate().valid
    reference.update(few[:1], np.zeros(1, bool))
    assert reference.estimate().valid
    assert reference.estimate().basis == Basis.CALIBRATION
    reference.update(np.zeros(50, np.int32), np.zeros(50, bool), 31)
    estimate = reference.estimate()
    assert (estimate.images, estimate.valid, estimate.interval) == (50, False, (0, 1))
    for i in range(29):
        reference.label(round(0.9 * UNIT), i % 2 == 0)
    assert not reference.estimate().valid
    reference.label(round(0.9 * UNIT), True)
    estimate = reference.estimate()
    assert estimate.valid
    assert estimate.basis == Basis.LABELS
    assert estimate.accuracy == pytest.approx(16 / 30, abs=1e-4)
    low, high = estimate.interval
    assert low < 16 / 30 < high


def test_labels_of_one_kind_have_an_interval_of_their_own() -> None:
    """All thirty right: no variance to see, and yet the accuracy is not known to be 1."""
    table = steps(0.99, 0.4)
    pair = both(table)
    see(pair, [0] * 100)
    for _ in range(30):
        for one in pair:
            one.label(round(0.99 * UNIT), True)
    estimate = pair[0].estimate()
    assert estimate == pair[1].estimate()
    assert estimate.basis == Basis.LABELS_ALONE
    assert estimate.interval[0] == pytest.approx(0.864, abs=0.005)
    assert estimate.interval[1] == 1
    assert estimate.accuracy == 1


def test_after_65536_labels_older_ones_count_half() -> None:
    pair = both(steps(0.75, 0.25))
    for number in range(MOST_LABELS + 10):
        for one in pair:
            one.label(1000, number % 4 > 0)
    assert pair[0].state == pair[1].state
    assert pair[1].state.labels[2:] == (MOST_LABELS // 2 + 10, MOST_LABELS * 3 // 8 + 7)


def test_without_a_table_there_is_no_estimate() -> None:
    monitor = Monitor(artifact(None, "int32"))
    c = Accuracy(monitor)
    c.update(evaluation(np.zeros(50, np.int32), np.zeros(50, bool), 0))
    assert monitor.accuracy is None
    assert c.estimate() is None
    assert flat.read(artifact(None, "int32")).accuracy is None


def test_images_that_could_not_be_evaluated_are_faults() -> None:
    c = Accuracy(Monitor(artifact(steps(1, 0), "int32")))
    c.update_faults(3)
    estimate = c.estimate()
    assert estimate is not None
    assert (estimate.images, estimate.faults) == (0, 3)


@settings(max_examples=300, deadline=None)
@given(st.binary(min_size=224, max_size=224), st.integers(0, UNIT), st.booleans())
def test_whatever_the_memory_holds_an_estimate_is_a_probability(
    memory: bytes, probability: int, right: bool
) -> None:
    c = Accuracy(Monitor(artifact(steps(0.9, 0.4), "int32")))
    c.words[:] = np.frombuffer(memory, np.uint64)
    for _ in range(3):
        estimate = c.estimate()
        assert estimate is not None
        assert 0 <= estimate.low <= estimate.estimate <= estimate.high <= UNIT
        assert estimate.rights <= estimate.labels <= MOST_LABELS
        assert estimate.images <= BLOCKS * 125
        c.label(probability, right)
        c.update(evaluation(np.zeros(2, np.int32), np.zeros(2, bool), 0))
    assert c.state.block < BLOCKS


@pytest.mark.parametrize("probability", [-1, UNIT + 1])
def test_a_label_of_no_probability_is_refused(probability: int) -> None:
    with pytest.raises(ValueError, match="0 to 65535"):
        Accuracy(Monitor(artifact(steps(1, 0), "int32"))).label(probability, True)
