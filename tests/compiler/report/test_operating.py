"""What other promises would catch."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from edgemon.compiler import fitting
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, MissPromise
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.report.operating import RATES, operating_points
from tests.compiler.recordings import recorded_splits

Parts = Splits[Recording]
PROMISE = FalseAlarmPromise(0.05)


@pytest.fixture(scope="module")
def splits(tmp_path_factory: pytest.TempPathFactory) -> Parts:
    return recorded_splits(tmp_path_factory.mktemp("recordings"), "int8", 900)


def fitted_on(rows: Parts) -> Fitted:
    both = [MONITORS["msp_t"](taps=("logits",)), MONITORS["second_opinion"](taps=("features",))]
    return fitting.fit_monitors(both, "output", rows, PROMISE, rule="guaranteed")


def test_more_false_alarms_catch_more(splits: Parts) -> None:
    fitted = fitted_on(splits)
    for points in operating_points(fitted, PROMISE, ~splits.test.correct):
        assert [p["promised"] for p in points] == list(RATES)
        known = [p for p in points if p["caught"] is not None]
        assert len(known) >= 3
        for less, more in pairwise(known):
            assert less["threshold"] > more["threshold"]
            assert less["caught"] <= more["caught"]
            assert less["false_alarms"] <= more["false_alarms"]


def test_the_promise_itself_gives_the_monitor_s_own_threshold(splits: Parts) -> None:
    """Where it is of one monitor alone."""
    alone = [MONITORS["msp_t"](taps=("logits",))]
    fitted = fitting.fit_monitors(alone, "output", splits, PROMISE, rule="guaranteed")
    (points,) = operating_points(fitted, PROMISE, ~splits.test.correct)
    own = next(p for p in points if p["promised"] == PROMISE.rate)
    monitor = fitted.judges[0].monitor
    assert own["threshold"] == monitor.shown(monitor.alarm_above)
    assert own["caught"] == pytest.approx(1 - fitted.judges[0].quality.miss_rate)


def test_too_few_rows_say_how_many_are_needed(splits: Parts) -> None:
    few = replace(splits, threshold=splits.threshold.take(np.arange(120)))
    points = operating_points(fitted_on(few), PROMISE, ~splits.test.correct)[0]
    assert [p["caught"] is None for p in points] == [True, True, False, False, False]
    assert points[0]["rows_needed"] == 299  # the smallest n with .99^n <= .05
    assert points[0]["rows"] < 120


def test_a_promise_that_is_not_about_false_alarms_has_none(splits: Parts) -> None:
    assert operating_points(fitted_on(splits), MissPromise(0.2), ~splits.test.correct) == [[], []]
