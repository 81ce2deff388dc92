"""Metrics: counts, and n/a where they are undefined."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.statistics.quality import assess


def test_counts_and_rates() -> None:
    wrong = np.array([True, True, True, False, False, False, False, False])
    alarm = np.array([True, True, False, True, False, False, False, False])
    found = assess(alarm, np.array([9, 8, 1, 7, 2, 3, 4, 5]), wrong)
    assert (found.true_alarms, found.missed, found.false_alarms, found.quiet) == (2, 1, 1, 4)
    assert found.false_alarm_rate == 0.2
    assert found.miss_rate == pytest.approx(1 / 3)
    assert found.mcc == pytest.approx((2 * 4 - 1 * 1) / np.sqrt(3 * 3 * 5 * 5))
    assert found.auroc == pytest.approx(10 / 15)


@pytest.mark.parametrize(
    ("alarm", "wrong"), [([0, 0, 0], [1, 0, 0]), ([1, 1, 1], [1, 0, 0]), ([1, 0, 0], [0, 0, 0])]
)
def test_undefined_is_none_and_not_zero(alarm: list[int], wrong: list[int]) -> None:
    found = assess(np.array(alarm, bool), np.array([1, 2, 3]), np.array(wrong, bool))
    assert found.mcc is None


def test_auroc_needs_both_kinds_of_rows() -> None:
    alarm, score = np.array([True, False]), np.array([1, 2])
    assert assess(alarm, score, np.array([False, False])).auroc is None
    assert assess(alarm, score, np.array([True, True])).false_alarm_rate is None
