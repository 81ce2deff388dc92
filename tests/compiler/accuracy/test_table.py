"""Fitting the table: calibrated, never rising, within what the format holds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon.compiler.accuracy.table import MOST_STEPS, UNIT, fit
from edgemon.compiler.errors import DataError
from edgemon.runtime.monitor import Monitor
from tests.compiler.two_monitors import DTYPES, artifact, numbers


def rows(count: int, seed: int, wrong: float = 0.1) -> tuple[Any, Any]:
    """Scores of right and wrong answers, and which are right."""
    rng = np.random.default_rng(seed)
    right = rng.random(count) >= wrong
    return rng.normal(np.where(right, 0, 2)).astype(np.float32), right


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_whatever_the_scores_the_format_takes_the_table(data: st.DataObject) -> None:
    dtype = data.draw(st.sampled_from(DTYPES))
    some = data.draw(st.lists(numbers(dtype), min_size=1, max_size=200))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    scores = rng.choice(np.array(some, dtype), 200)
    right = rng.random(200) < data.draw(st.floats(0, 1))
    table = fit(scores, right, monitor=1)
    assert 2 <= len(table.probabilities) <= MOST_STEPS
    assert (np.diff(table.probabilities.astype(int)) <= 0).all()
    assert Monitor(artifact(table, dtype)).accuracy is not None
    mean = table.lookup(scores).mean() / UNIT
    assert mean == pytest.approx(right.mean(), abs=1 / UNIT)


def test_merging_steps_costs_next_to_nothing() -> None:
    """More than 64 steps of isotonic regression; those that are merged lie close."""
    scores = np.arange(200_000, dtype=np.float32)
    share = 1 - np.linspace(0, 0.9, 200_000)
    right = np.random.default_rng(0).random(200_000) < share
    table = fit(scores, right, monitor=0)
    assert len(table.probabilities) == MOST_STEPS
    error = np.abs(table.lookup(scores) / UNIT - share)
    assert error.mean() < 0.01


def test_probabilities_are_right_on_other_rows() -> None:
    table = fit(*rows(5000, 1), monitor=0)
    scores, right = rows(50_000, 2)
    found = table.lookup(scores) / UNIT
    for low, high, within in ((0, 0.5, 0.08), (0.5, 0.9, 0.03), (0.9, 1.01, 0.01)):
        own = (found >= low) & (found < high)
        assert right[own].mean() == pytest.approx(found[own].mean(), abs=within)
    assert table.variance / UNIT**2 == pytest.approx(np.mean((right - found) ** 2), rel=0.1)


def test_a_constant_score_gives_the_share_of_right_answers() -> None:
    table = fit(np.full(100, 7, np.int32), np.arange(100) < 83, monitor=0)
    assert table.edges.tolist() == [7]
    assert set(table.probabilities.tolist()) == {round(0.83 * UNIT)}
    assert table.variance == pytest.approx(0.83 * 0.17 * UNIT**2, rel=0.05)


def test_few_rows_and_other_faults_are_said() -> None:
    scores, right = rows(49, 0)
    with pytest.raises(DataError, match="50 rows or more, not on 49"):
        fit(scores, right, monitor=0)
    scores, right = rows(100, 0)
    for window in (63, (1 << 20) + 1):
        with pytest.raises(DataError, match="64 to 1,048,576"):
            fit(scores, right, monitor=0, window=window)
    scores[3] = np.nan
    with pytest.raises(DataError, match="NaN"):
        fit(scores, right, monitor=0)
