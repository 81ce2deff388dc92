"""Sums of reports: whole, once, in any order, in memory that does not grow."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon.compiler.fleet import counts
from edgemon.compiler.fleet.counts import Flag, Fleet, Stretches
from tests.compiler.fleet.logs import DAY, flagged, report


def test_sums_by_device_day_and_class() -> None:
    fleet = Fleet()
    for n in range(100):  # of 1,000 s: over a day
        fleet.add(report("a", n, alarms=50, value_faults=10))
        fleet.add(report("b", n, alarms=70))
    assert fleet.total.images == 200_000
    assert fleet.total.raised == 12_000
    assert fleet.devices["a"].tally.judged == 99_000
    assert fleet.devices["a"].tally.faults == 1000
    assert sorted(fleet.days) == [10, 11]
    assert fleet.days[10].windows == 2 * (DAY // 1000)
    assert [(c, t.images, t.raised) for c, t in fleet.classes.items()] == [
        (0, 120_000, 12_000), (1, 80_000, 0),
    ]  # fmt: skip


def test_the_order_of_reports_changes_nothing() -> None:
    some = [report(d, n, alarms=40 + n % 7, **flagged(n, 20_500, 20_100) if n >= 20 else {})
            for d in "ab" for n in range(40)]  # fmt: skip
    one, other = Fleet(), Fleet()
    for r in some:
        one.add(r)
    random.Random(3).shuffle(some)
    for r in some:
        other.add(r)
    device, same = one.devices["a"], other.devices["a"]
    assert (device.flag, device.first, device.last) == (same.flag, same.first, same.last)
    assert device.tally.raised == same.tally.raised
    assert device.flag == Flag(10 * DAY + 21_000, 20_500, 20_100, 1, 10 * DAY + 20_100)
    assert (device.before.rate.n, device.after.rate.n) == (20, 19)
    assert abs(device.after.rate.mean - same.after.rate.mean) < 1e-12


def test_a_log_that_is_read_twice_counts_once() -> None:
    fleet = Fleet()
    for _ in range(2):
        for n in (3, 1, 0, 7, 2):
            fleet.add(report("a", n))
        fleet.add(report("b", 1))
    assert fleet.total.windows == 6
    assert fleet.repeated == 6


def test_a_clock_that_is_set_back_a_little_costs_no_report() -> None:
    fleet = Fleet()
    fleet.add(report("a", 0))
    fleet.add(report("a", 1, started=10 * DAY + 990))
    assert fleet.total.windows == 2


def test_reports_without_a_clock_all_count() -> None:
    fleet = Fleet()
    for _ in range(3):
        fleet.add(report("a", started=0, ended=0))
    assert fleet.total.windows == 3
    assert list(fleet.days) == [None]


def test_reports_of_other_artifacts_are_counted_apart() -> None:
    fleet = Fleet("0badcafe")
    fleet.add(report("a"))
    fleet.add(report("a", 1, artifact="11111111"))
    assert (fleet.total.windows, fleet.of_others) == (1, 1)


def test_the_number_of_devices_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MOST_DEVICES", 3)
    fleet = Fleet()
    for n in range(5):
        fleet.add(report(str(n)))
    assert (len(fleet.devices), fleet.beyond) == (3, 2)


def test_a_drift_that_began_in_the_window_of_its_flag() -> None:
    fleet = Fleet()
    fleet.add(report("a", 0, **flagged(0, 900, 400)))
    flag = fleet.devices["a"].flag
    assert flag is not None
    assert flag.about == 10 * DAY + 400
    assert fleet.devices["a"].after.rate.n == 0  # the flag rose within it
    assert fleet.devices["a"].before.rate.n == 0


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 12)), max_size=40))
def test_stretches_cover_what_was_taken(pairs: list[tuple[int, int]]) -> None:
    stretches, covered = Stretches(), set[int]()
    for start, length in pairs:
        span = set(range(start, start + length))
        taken = stretches.take(start, start + length)
        assert taken == (2 * len(span & covered) <= length)
        if taken:
            covered |= span
        held = [range(a, b) for a, b in zip(stretches.starts, stretches.stops, strict=True)]
        assert {x for r in held for x in r} == covered
        assert all(b < a for b, a in zip(stretches.stops, stretches.starts[1:], strict=False))


def test_stretches_of_a_device_that_is_mostly_off_are_bounded() -> None:
    stretches = Stretches()
    for n in range(5000):
        assert stretches.take(100 * n, 100 * n + 10 + n % 5)
    assert len(stretches.starts) == counts.MOST_STRETCHES == len(stretches.stops)
    assert not stretches.take(499_900, 499_910)
