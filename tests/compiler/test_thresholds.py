"""The order statistic of the guarantee, and its refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta

from edgemon.compiler.errors import CompileError
from edgemon.compiler.thresholds import FalseAlarmTarget, MissTarget, calibrate, order_statistic


def test_known_order_statistics() -> None:
    five = FalseAlarmTarget(0.05, 0.95)
    assert five.rows_needed == 59
    assert FalseAlarmTarget(0.01, 0.95).rows_needed == 299
    assert order_statistic(1000, five) == 962
    assert order_statistic(59, five) == 59


def test_one_row_too_few_is_refused_with_the_number() -> None:
    with pytest.raises(CompileError, match="needs 59 correct threshold rows, but there are 58"):
        order_statistic(58, FalseAlarmTarget())


@given(st.integers(59, 5000), st.sampled_from([0.05, 0.1, 0.2]), st.sampled_from([0.8, 0.9, 0.95]))
def test_k_is_the_smallest_with_the_promise(n: int, alpha: float, confidence: float) -> None:
    """The true false-alarm rate above the k-th of n is Beta(n - k + 1, k): its tail is the risk."""
    k = order_statistic(n, FalseAlarmTarget(alpha, confidence))
    assert beta.sf(alpha, n - k + 1, k) <= 1 - confidence + 1e-9
    if k > 1:
        assert beta.sf(alpha, n - k + 2, k - 1) > 1 - confidence - 1e-9


def test_the_promise_holds_for_tied_scores() -> None:
    """Two-valued scores: a threshold below the upper value alarms on 6 % of the rows, more than
    the 5 % promised, so it may be chosen in 5 % of the splits. A plain quantile breaks that."""
    rng = np.random.default_rng(0)
    splits = [(rng.random(500) < 0.06).astype(int) for _ in range(2000)]
    broken = np.mean([calibrate(scores, FalseAlarmTarget()) < 1 for scores in splits])
    plain = np.mean([np.quantile(scores, 0.95, method="higher") < 1 for scores in splits])
    noise = 3 * np.sqrt(0.05 * 0.95 / len(splits))
    assert broken <= 0.05 + noise < plain


@pytest.mark.parametrize(("rate", "confidence"), [(0, 0.9), (1, 0.9), (0.1, 0), (0.1, 1.5)])
def test_nonsense_is_refused(rate: float, confidence: float) -> None:
    with pytest.raises(CompileError, match="between 0 and 1"):
        FalseAlarmTarget(rate, confidence)


def test_a_tiny_rate_needs_many_rows_and_says_how_many() -> None:
    with pytest.raises(CompileError, match=r"needs 29957322735539\d+ correct"):
        order_statistic(100, FalseAlarmTarget(1e-15))


@pytest.mark.parametrize(("rate", "confidence"), [(0.3, 0.51), (0.3, 0.657), (0.1, 0.95)])
def test_just_enough_rows_are_enough(rate: float, confidence: float) -> None:
    """The number of rows and the order statistic once rounded differently."""
    target = MissTarget(rate, confidence)
    assert np.isfinite(target.threshold(np.arange(target.rows_needed)))
