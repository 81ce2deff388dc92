"""The order statistic of the guarantee, and its refusals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import beta, kstest

from edgemon.compiler.errors import CompileError
from edgemon.compiler.promise.thresholds import (
    PER_CLASS,
    FalseAlarmPromise,
    MissPromise,
    boundaries,
    calibrate,
    order_statistic,
)


def test_known_order_statistics() -> None:
    five = FalseAlarmPromise(0.05, 0.95)
    assert five.rows_needed() == 59
    assert FalseAlarmPromise(0.01, 0.95).rows_needed() == 299
    assert order_statistic(1000, five) == 962
    assert order_statistic(59, five) == 59


def test_one_row_too_few_is_refused_with_the_number() -> None:
    with pytest.raises(CompileError, match="needs 59 correct threshold rows, but there are 58"):
        order_statistic(58, FalseAlarmPromise())


@given(st.integers(59, 5000), st.sampled_from([0.05, 0.1, 0.2]), st.sampled_from([0.8, 0.9, 0.95]))
def test_k_is_the_smallest_with_the_promise(n: int, alpha: float, confidence: float) -> None:
    """The true false-alarm rate above the k-th of n is Beta(n - k + 1, k): its tail is the risk."""
    k = order_statistic(n, FalseAlarmPromise(alpha, confidence))
    assert beta.sf(alpha, n - k + 1, k) <= 1 - confidence + 1e-9
    if k > 1:
        assert beta.sf(alpha, n - k + 2, k - 1) > 1 - confidence - 1e-9


def test_the_promise_holds_for_tied_scores() -> None:
    """Two-valued scores: a threshold below the upper value alarms on 6 % of the rows, more than
    the 5 % promised, so it may be chosen in 5 % of the splits. A plain quantile breaks that."""
    rng = np.random.default_rng(0)
    splits = [(rng.random(500) < 0.06).astype(int) for _ in range(2000)]
    broken = np.mean([calibrate(scores, FalseAlarmPromise()) < 1 for scores in splits])
    plain = np.mean([np.quantile(scores, 0.95, method="higher") < 1 for scores in splits])
    noise = 3 * np.sqrt(0.05 * 0.95 / len(splits))
    assert broken <= 0.05 + noise < plain


@pytest.mark.parametrize(("rate", "confidence"), [(0, 0.9), (1, 0.9), (0.1, 0), (0.1, 1.5)])
def test_nonsense_is_refused(rate: float, confidence: float) -> None:
    with pytest.raises(CompileError, match="between 0 and 1"):
        FalseAlarmPromise(rate, confidence)


def test_a_tiny_rate_needs_many_rows_and_says_how_many() -> None:
    with pytest.raises(CompileError, match=r"needs 29957322735539\d+ correct"):
        order_statistic(100, FalseAlarmPromise(1e-15))


@pytest.mark.parametrize(("rate", "confidence"), [(0.3, 0.51), (0.3, 0.657), (0.1, 0.95)])
def test_just_enough_rows_are_enough(rate: float, confidence: float) -> None:
    """The number of rows and the order statistic once rounded differently."""
    target = MissPromise(rate, confidence)
    assert np.isfinite(target.threshold(np.arange(target.rows_needed())))


@pytest.mark.parametrize("monitors", [1, 2, 5])
def test_a_new_row_is_above_none_of_the_boundaries_as_the_beta_law_says(monitors: int) -> None:
    """Tukey 1947: whatever the scores have to do with each other."""
    rng = np.random.default_rng(monitors)
    mix = rng.normal(size=(monitors, monitors))
    n, blocks, coverage = 120, 9, []
    new = rng.normal(size=(20_000, monitors)) @ mix
    for _ in range(300):
        rows = rng.normal(size=(n, monitors)) @ mix
        found = boundaries(list(rows.T), blocks)
        assert blocks - monitors <= (rows > found).any(axis=1).sum() < blocks
        coverage.append((new <= found).all(axis=1).mean())
    assert kstest(coverage, beta(n + 1 - blocks, blocks).cdf).pvalue > 1e-3


def test_the_verdict_of_equal_monitors_costs_no_power() -> None:
    """Each alone would alarm on 38 of 1000 rows, and both together do on as many, less one."""
    scores = np.arange(1000)
    alone = FalseAlarmPromise().threshold(scores)
    both = FalseAlarmPromise().thresholds([scores, scores])
    assert sorted(both) == [alone, alone + 1]


def test_two_monitors_need_rows_for_two_blocks() -> None:
    target = FalseAlarmPromise()
    assert [target.rows_needed(m) for m in (1, 2, 5)] == [59, 93, 181]
    assert target.alone().rows_needed(5) == 59
    with pytest.raises(CompileError, match=r"verdict of 2 monitors .* needs 93 .* there are 92"):
        target.thresholds([np.arange(92), np.arange(92)])
    assert len(target.thresholds([np.arange(93), np.arange(93)])) == 2


def test_every_class_at_once_takes_more_confidence_of_each() -> None:
    each, every = (FalseAlarmPromise(per_class=c).of_one_class(10) for c in PER_CLASS)
    assert each.confidence == 0.95
    assert every.confidence**10 == pytest.approx(0.95)
    assert every.rows_needed() > each.rows_needed()


@pytest.mark.parametrize(
    ("what", "says"),
    [({"per_class": "all"}, "--per-class all: use"), ({"whose": "all"}, "--promise all: use")],
)
def test_promises_of_nothing_known_are_refused(what: dict[str, str], says: str) -> None:
    with pytest.raises(CompileError, match=says):
        FalseAlarmPromise(**what)  # type: ignore[arg-type]
