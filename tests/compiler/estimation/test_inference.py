"""Estimates from random labels: unbiased, never worse for useless predictions, and with intervals
that hold as often as they say."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.errors import DataError
from edgemon.compiler.estimation.inference import (
    FEWEST_LABELS,
    Share,
    of_labels,
    prediction_powered,
    wilson,
)

ROWS, DRAWS = 4000, 1500


def _world(
    accuracy: float, use: float, seed: int
) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.float64]]:
    """Right answers (n,), and predictions of them that are worth something, at an offset."""
    rng = np.random.default_rng(seed)
    right = rng.random(ROWS) < accuracy
    told = np.clip(0.3 + use * right + rng.normal(0, 0.15, ROWS), 0, 1)
    return right, told


def _draws(
    right: npt.NDArray[np.bool_], told: npt.NDArray[np.float64], labels: int
) -> list[tuple[Share, Share]]:
    rng = np.random.default_rng(1)
    found = []
    for _ in range(DRAWS):
        at = rng.choice(ROWS, labels, replace=False)
        found.append((prediction_powered(told, right[at], at), of_labels(right[at], ROWS)))
    return found


@pytest.mark.parametrize("labels", [50, 250])
@pytest.mark.parametrize("accuracy", [0.15, 0.5, 0.87, 0.95])
@pytest.mark.parametrize("use", [0.0, 0.3])
def test_intervals_hold_in_93_to_97_percent_of_draws(
    labels: int, accuracy: float, use: float
) -> None:
    right, told = _world(accuracy, use, seed=3)
    truth = right.mean()
    inside = [
        s.low <= truth <= s.high
        for s, _ in _draws(right, told, labels)
        if s.low is not None and s.high is not None
    ]
    assert len(inside) == DRAWS
    assert 0.93 <= np.mean(inside) <= 0.98


def test_predictions_that_are_off_do_not_pull_the_estimate() -> None:
    right, told = _world(0.8, 0.3, seed=0)
    found = [s.estimate for s, _ in _draws(right, told, 100)]
    assert abs(told.mean() - right.mean()) > 0.2
    assert abs(np.mean(found) - right.mean()) < 0.004


def test_good_predictions_save_labels_and_useless_ones_cost_none() -> None:
    for use, most in ((0.4, 0.75), (0.0, 1.03)):
        right, told = _world(0.8, use, seed=0)
        with_, without = zip(*_draws(right, told, 100), strict=True)
        error, alone = (
            np.mean([abs(s.estimate - right.mean()) for s in shares]) for shares in (with_, without)
        )
        assert error <= most * alone


def test_labels_of_all_rows_are_the_truth() -> None:
    right, told = _world(0.8, 0.3, seed=0)
    found = prediction_powered(told, right, np.arange(ROWS))
    assert found.low is not None
    assert found.high is not None
    assert found.estimate == pytest.approx(right.mean(), abs=1e-12)
    assert found.high - found.low < 1e-9


def test_few_labels_of_few_rows_are_the_truth_too() -> None:
    found = prediction_powered(np.array([0.2, 0.9]), np.array([True, False]), np.array([0, 1]))
    assert (found.estimate, found.low, found.high) == (0.5, 0.5, 0.5)


@given(
    st.lists(st.tuples(st.booleans(), st.floats(0, 1)), min_size=1, max_size=60),
    st.integers(0, 2**32 - 1),
)
def test_an_estimate_is_a_share_within_its_interval(
    rows: list[tuple[bool, float]], seed: int
) -> None:
    right, told = np.array([r for r, _ in rows]), np.array([t for _, t in rows])
    rng = np.random.default_rng(seed)
    at = rng.permutation(len(rows))[: rng.integers(1, len(rows) + 1)]
    found = prediction_powered(told, right[at], at)
    assert 0 <= found.estimate <= 1
    if len(at) < FEWEST_LABELS and len(at) < len(rows):
        assert found.low is found.high is None
    else:
        assert found.low is not None
        assert found.high is not None
        assert 0 <= found.low <= found.estimate + 1e-9
        assert found.estimate - 1e-9 <= found.high <= 1


def test_all_labels_right_is_no_certainty() -> None:
    found = of_labels(np.ones(50, bool), 5000)
    assert found.estimate == 1
    assert found.low is not None
    assert 0.9 < found.low < 0.95


@pytest.mark.parametrize("labels", [0, 7])
def test_labels_that_cannot_be_are_refused(labels: int) -> None:
    with pytest.raises(DataError, match="labels of 5 rows"):
        prediction_powered(np.zeros(5), np.ones(labels, bool), np.arange(labels))


def test_wilson_is_that_of_scipy_for_plain_labels() -> None:
    from scipy.stats import binomtest

    own = binomtest(37, 50).proportion_ci(0.95, method="wilson")
    found = wilson(0.74, 0.74 * 0.26 / 50, 50)
    assert found == pytest.approx((own.low, own.high))
