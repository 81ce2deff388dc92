"""The time of a change, from bounded memory and in any order of reports."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest

from edgemon.compiler.fleet.history import MOST, History
from edgemon.runtime.window import MonitorCounts
from tests.compiler.fleet.logs import DAY, report


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize("after", [0.12, 0.02])
def test_the_time_of_a_change_of_alarms(after: float, shuffled: bool) -> None:
    rng, history = np.random.default_rng(0), History()
    windows = [
        report("a", n, alarms=int(rng.binomial(1000, 0.05 if n < 420 else after)))
        for n in range(600)
    ]
    if shuffled:
        random.Random(1).shuffle(windows)
    for r in windows:
        history.add(r)
    assert len(history.stretches) == MOST
    assert sum(s.windows for s in history.stretches) == 600
    found = history.change()
    assert found is not None
    first, last = found
    assert first <= 10 * DAY + 420_000 <= last
    assert last - first < 600_000 / (3 if shuffled else 6)
    assert all(a.end <= b.start for a, b in pairwise(history.stretches))


def test_the_time_of_a_change_of_scores_alone() -> None:
    rng, history = np.random.default_rng(0), History()
    for n in range(100):
        score = int(1000 * (rng.normal(50, 1) + 3 * (n >= 70)))
        history.add(report("a", n, monitors=(MonitorCounts(score, 1000, 50, 0, False),)))
    found = history.change()
    assert found is not None
    assert found[0] <= 10 * DAY + 70_000 <= found[1]


def test_what_has_no_time_or_no_verdict_is_left_out() -> None:
    history = History()
    history.add(report("a", started=0, ended=0))
    history.add(report("a", alarms=0, value_faults=1000, classes=()))
    assert history.stretches == []
    history.add(report("a", 0, monitors=()))
    assert history.change() is None
    history.add(report("a", 1, monitors=()))
    assert history.change() is not None
