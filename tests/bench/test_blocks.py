"""The estimator of ratios, on made-up times."""

import numpy as np
import pytest
from scipy.stats import quantile_test

from edgemon.bench.blocks import Estimate, minima, ratio

ROUNDS, SIZE = 2000, 100
TRUE = 1.04


def times(rng: np.random.Generator, jitter: float) -> np.ndarray:
    """Two pipelines whose times are a floor and what an exponential adds."""
    floor = np.array([[100.0], [100.0 * TRUE]])
    return floor * (1 + rng.exponential(jitter, (2, ROUNDS)))


def test_quiet_times_give_the_ratio_in_a_narrow_interval() -> None:
    low, high = minima(times(np.random.default_rng(0), 0.01), SIZE)
    found = ratio(high, low)
    assert found.trusted
    assert found.low is not None
    assert found.high is not None
    assert found.low <= TRUE <= found.high


def test_interruptions_do_not_move_the_ratio() -> None:
    rng = np.random.default_rng(1)
    noisy = times(rng, 0.01)
    noisy += 4000 * (rng.random(noisy.shape) < 0.3)
    found = ratio(*minima(noisy, SIZE)[::-1])
    assert found.trusted
    assert found.value == pytest.approx(TRUE, rel=0.005)


def test_a_clock_that_drifts_does_not_move_the_ratio() -> None:
    slow = times(np.random.default_rng(2), 0.01) * np.linspace(1, 2, ROUNDS)
    found = ratio(*minima(slow, SIZE)[::-1])
    assert found.value == pytest.approx(TRUE, rel=0.005)
    assert found.trusted


def test_noise_that_reaches_the_minima_is_not_trusted() -> None:
    rng = np.random.default_rng(3)
    noisy = times(rng, 0.01) * np.repeat(rng.uniform(1, 1.5, (2, ROUNDS // SIZE)), SIZE, axis=1)
    assert not ratio(*minima(noisy, SIZE)[::-1]).trusted


def test_few_blocks_have_no_interval_and_are_not_trusted() -> None:
    for blocks in (1, 2, 4):
        found = Estimate.of(np.ones(blocks))
        assert (found.low, found.high, found.trusted) == (None, None, False)
        assert found.to_json()["interval"] is None


def test_the_interval_covers_the_median_as_often_as_it_says() -> None:
    rng = np.random.default_rng(4)
    found = [Estimate.of(rng.exponential(1, 20)) for _ in range(400)]
    covered = np.mean([e.low <= np.log(2) <= e.high for e in found if e.low and e.high])
    assert covered >= 0.93


def test_rounds_that_fill_no_block_are_left_out() -> None:
    found = minima(np.array([[3.0, 2.0, 5.0, 4.0, 1.0]]), 2)
    np.testing.assert_array_equal(found, [[2, 4]])


@pytest.mark.parametrize("blocks", [2, 5, 6, 17, 20, 61])
def test_the_interval_is_that_of_scipy(blocks: int) -> None:
    values = np.random.default_rng(blocks).normal(10, 1, blocks)
    found = Estimate.of(values)
    test = quantile_test(values, p=0.5, q=float(np.median(values)))
    wanted = test.confidence_interval(confidence_level=0.95)
    ends = [np.nan if end is None else end for end in (found.low, found.high)]
    assert np.array_equal(ends, [wanted.low, wanted.high], equal_nan=True)
