"""Promises over redraws of the data: kept by what compile does, broken by what it once did."""

from __future__ import annotations

import pytest

from edgemon.bench import redraws
from edgemon.compiler.data.repeats import GROUP


def test_repeats_do_not_break_the_promise_and_leaving_them_out_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redraws, "REPEATS", (0.0, 0.9))
    monkeypatch.setattr(redraws, "RATES", (0.05, 0.2))
    kept = list(redraws.repeats(60, 0))
    assert len(kept) == 4
    assert all(line.holds for line in kept)
    once = {line.promise: line for line in redraws.repeats(60, 0, GROUP) if "90%" in line.what}
    assert not any(line.holds for line in once.values())


def test_the_verdict_and_every_class_at_once_are_kept() -> None:
    lines = list(redraws.verdicts(60, 1))
    assert [line.holds for line in lines] == [True] * 5
    assert all(line.median > 0.02 for line in lines)  # and not by alarming on nothing


def test_each_monitor_by_itself_says_nothing_of_the_verdict() -> None:
    target = redraws.FalseAlarmPromise(whose="monitor")
    assert not redraws._judged("verdict", 5, target, 60, 1).holds


def test_the_drift_test_keeps_its_promise_on_streams_of_tracks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(redraws, "RUN_LENGTHS", (30,))
    (line,) = redraws.tracks(20, 0)
    assert line.holds
