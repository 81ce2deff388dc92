"""Who is named: devices above what is expected, and flags that are more than chance."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.commands.fleet import show
from edgemon.compiler.fleet.counts import Fleet
from edgemon.compiler.fleet.judging import document
from edgemon.compiler.fleet.limit import Expected
from edgemon.compiler.fleet.page import render
from edgemon.compiler.fleet.reading import Problems
from edgemon.compiler.terminal import Terminal
from tests.compiler.fleet.logs import DAY, flagged, report
from tests.conftest import ROOT

SAID = Expected(limit=0.05, because="a test says so", labels=("cat", "dog"), run_length=10_000,
                alternatives=("lower", "higher"))  # fmt: skip


def judged(fleet: Fleet, said: Expected = SAID) -> dict[str, Any]:
    problems = Problems()
    problems.add("x.log:3", "no <JSON>")
    return document(fleet, said, problems)


def a_fleet(seed: int, devices: int, bad: dict[str, float]) -> Fleet:
    """Twenty windows each at 5 % of alarms, or at the rate of a bad device."""
    rng, fleet = np.random.default_rng(seed), Fleet()
    for d in range(devices):
        for n in range(20):
            alarms = int(rng.binomial(1000, bad.get(str(d), 0.05)))
            fleet.add(report(str(d), n, alarms=min(alarms, 600)))
    return fleet


def test_bad_devices_are_named_and_good_ones_are_not_for_their_number() -> None:
    """Each by itself at 5 % would name some by chance."""
    found = judged(a_fleet(0, 300, {"7": 0.07, "130": 0.09}))
    assert found["above"] == ["130", "7"]
    assert sum(r["p_value"] < 0.05 for r in found["by_device"]) > 4
    row = found["by_device"][7]
    assert row["device"] == "7"
    assert row["interval"][0] < 0.07 < row["interval"][1]
    assert judged(a_fleet(1, 100, {}))["above"] == []


def test_alarms_that_come_in_bursts_name_no_device() -> None:
    """A video of one object alarms on all its frames: windows of 300 alarms among ones of none."""
    fleet = Fleet()
    for d in range(20):
        for n in range(40):
            fleet.add(report(str(d), n, alarms=300 if (n + d) % 6 == 0 else 0))
    found = judged(fleet)
    assert all(r["rate"] > 0.04 and r["dispersion"] > 100 for r in found["by_device"])
    assert found["above"] == []


def drifting(after: int, seed: int = 0) -> Fleet:
    """Device b flags at image 20,500; from there on it has so many alarms in 1,000 images. Devices
    a and c have a false flag, d one in the last window."""
    rng, fleet = np.random.default_rng(seed), Fleet()
    for device in "abcd":
        for n in range(60):
            alarms = int(rng.binomial(1000, 0.05))
            raised = {"b": 20, "a": 5, "c": 30, "d": 59}[device]
            if device == "b" and n > raised:
                alarms = int(rng.binomial(1000, after / 1000))
            at = 1000 * raised + 500
            changes = flagged(n, at, at - 100) if n >= raised else {}
            fleet.add(report(device, n, alarms=alarms, **changes))
    return fleet


@pytest.mark.parametrize("after", [100, 10])
def test_a_flag_that_is_more_than_chance_is_named_first(after: int) -> None:
    """Also where alarms become fewer, which is worse."""
    found = judged(drifting(after))["drift"]
    assert [r["device"] for r in found if r["confirmed"]] == ["b"]
    first = found[0]
    assert (first["device"], first["flagged_at_image"], first["since_image"]) == ("b", 20500, 20400)
    assert first["since"] == 10 * DAY + 20_400
    assert first["change"] == "higher"
    assert first["flagged_now"]
    assert first["rate_before"] == pytest.approx(0.05, abs=0.01)
    assert first["rate_after"] == pytest.approx(after / 1000, abs=0.01)
    assert next(r for r in found if r["device"] == "d")["p_value"] is None  # too young


def test_a_device_that_drifts_from_its_first_window_is_compared_with_the_fleet() -> None:
    fleet = a_fleet(0, 10, {})
    rng = np.random.default_rng(5)
    for n in range(20):
        fleet.add(report("new", n, alarms=int(rng.binomial(1000, 0.2)), **flagged(n, 30, 2)))
    (row,) = judged(fleet)["drift"]
    assert row["confirmed"]
    assert row["compared_with"] == "the fleet's windows without a flag"


def test_a_young_flag_has_no_p_and_is_shown_all_the_same() -> None:
    """It ended in an internal error: an adjusted p that nobody had set."""
    fleet = Fleet()
    for n in range(10):
        fleet.add(report("a", n, **flagged(n, 8500, 8400) if n > 7 else {}))
    found = judged(fleet)
    (row,) = found["drift"]
    assert (row["p_value"], row["adjusted_p"], row["confirmed"]) == (None, None, False)
    render(found)
    show(found, Terminal())


def test_false_flags_are_not_named() -> None:
    """Over many fleets: rarely more than the stated share."""
    wrong = sum(r["confirmed"] for seed in range(60) for r in judged(drifting(50, seed))["drift"])
    assert wrong <= 3


def test_the_document_says_what_is_known_of_days_classes_and_flags() -> None:
    found = judged(drifting(100))
    assert [r["day"] for r in found["by_day"]] == ["1970-01-11"]
    assert [(r["class"], r["name"]) for r in found["by_class"]] == [(0, "cat"), (1, "dog")]
    assert found["false_flags_at_most"] == 240_000 / 10_000
    assert found["total"]["images"] == 240_000
    assert judged(drifting(100), Expected())["above"] == []


def fields(table: str) -> set[str]:
    """The names in the first column of a table of the page."""
    text = (ROOT / "docs" / "fleet.md").read_text().partition(f"\n| {table} | means |")[2]
    rows = text.partition("\n\n")[0].splitlines()[2:]
    return {n for row in rows for n in re.findall(r"`(\w+)`", row.split("|")[1])}


def test_every_field_is_on_the_page() -> None:
    found = judged(drifting(100))
    assert fields("field") == set(found)
    rates = (found["total"], *(found[n][0] for n in ("by_device", "by_day", "by_class")))
    assert fields("field of a rate") == {key for row in rates for key in row}
    assert fields("field of a drift") == set(found["drift"][0])


def test_a_device_that_falls_silent_is_named() -> None:
    fleet = Fleet()
    for device, windows in (("a", 200), ("gone", 60), ("b", 199), ("early", 20)):
        for n in range(windows):
            fleet.add(report(device, n))
    fleet.add(report("clockless", started=0, ended=0))
    found = judged(fleet)
    assert found["silent"] == ["early", "gone"]
    assert "2 devices have reported nothing" in render(found).replace("\n", " ")


def test_windows_without_a_verdict() -> None:
    fleet = Fleet()
    for n in range(12):
        fleet.add(report("a", n, alarms=0, value_faults=1000, classes=()))
    found = judged(fleet)
    assert found["total"]["rate"] is None
    assert found["total"]["fault_rate"] == 1.0
    assert found["faulty"] == ["a"]
    render(found)


def test_windows_without_an_image_say_nothing_of_dispersion() -> None:
    """A device that reports by the clock, and mostly stands."""
    fleet, other = Fleet(), Fleet()
    for n in range(200):
        moving = report("a", n, alarms=300 if n % 20 == 0 else 20)
        idle = report("a", n, 0, images=0, monitors=(), classes=())
        fleet.add(moving if n % 10 == 0 else idle)
        if n % 10 == 0:
            other.add(moving)
    one, two = judged(fleet)["by_device"][0], judged(other)["by_device"][0]
    assert [one[k] for k in ("windows", "dispersion", "interval")] == [
        two[k] for k in ("windows", "dispersion", "interval")
    ]
    assert judged(fleet)["reports"] == 200


def test_the_page_holds_the_document_and_fetches_nothing() -> None:
    """SEC10: names come from whoever writes a log."""
    fleet = drifting(100)
    fleet.add(report("<script>alert(1)</script>\u202e", 0))
    page = render(judged(fleet))
    assert page == render(judged(fleet))
    assert "<script" not in page
    assert "\u202e" not in page
    assert "no &lt;JSON&gt;" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    for text in ("1970-01-11", "cat", "20,400", "24 by chance", "higher"):
        assert text in page
