"""Ranks of results, by oracle, threshold and kind; and the published figures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgemon.bench.farm import published
from edgemon.bench.farm.compiled import CERTIFIED, NATIVE
from edgemon.bench.farm.measures import ORACLES, OVERALL
from edgemon.bench.farm.ranking import Results, by_fault, find, rank, statistics
from edgemon.compiler.statistics.ranks import Ranking

FAULTS = {"fog": "weather", "snow": "weather", "black": "anomaly"}


def results(monitors: str = "abc") -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "case": "one", "monitor": m, "fault": fault, "kind": kind, "severity": s, "oracle": o,
            "mcc": None if (m, fault) == ("c", "black") else float(rng.random() + i),
            "native": {"mcc": float(rng.random())} if m != "b" else None,
        }
        for i, m in enumerate(monitors)
        for fault, kind in FAULTS.items()
        for s in (1, 3)
        for o in ORACLES
    ]  # fmt: skip


def test_an_undefined_mcc_counts_as_0_for_ranks_and_is_counted() -> None:
    found = rank(Results(results()), OVERALL, CERTIFIED)
    assert found is not None
    by_name = {r["monitor"]: r for r in found["ranks"]}
    assert by_name["c"]["undefined"] == 2
    assert (found["sets"], found["faults"]) == (6, 3)
    assert [r["monitor"] for r in found["ranks"]] == ["b", "c", "a"]
    assert by_name["c"]["rank"] == pytest.approx((4 * 1 + 2 * 3) / 6)


def test_severities_of_a_fault_are_one_observation() -> None:
    given = Results(results())
    values = given.mcc(OVERALL, CERTIFIED, ["a"], given.sets)
    faults, means = by_fault(values, given.sets)
    assert faults == [("one", f) for f in FAULTS]
    assert means[0, 0] == pytest.approx(values[:2, 0].mean())
    pairs = statistics(given, 0)["pairs"]
    assert {p["faults"] for p in pairs} == {3}


def test_native_thresholds_rank_those_that_have_them() -> None:
    found = statistics(Results(results()), 0)
    native = find(found["rankings"], OVERALL, NATIVE)
    assert {r["monitor"] for r in native["ranks"]} == {"a", "c"}
    kinds = {r["kind"] for r in found["rankings"] if r["oracle"] == OVERALL}
    assert kinds == {"all", "weather", "anomaly"}
    assert {w["threshold"] for w in found["winners"]} == {CERTIFIED, NATIVE}


def test_a_monitor_that_misses_a_set_is_not_ranked_and_named() -> None:
    some = [r for r in results() if (r["monitor"], r["fault"]) != ("b", "fog")]
    found = statistics(Results(some), 0)
    assert found["incomplete"] == ["b"]
    assert len(find(found["rankings"], OVERALL, CERTIFIED)["ranks"]) == 2
    assert rank(Results(results("a")), OVERALL, CERTIFIED) is None


def test_79_sets_and_three_monitors_have_the_published_critical_difference() -> None:
    found = Ranking.of(np.random.default_rng(0).random((79, 3)))
    assert found.critical_difference == pytest.approx(0.373, abs=5e-4)


def test_the_published_f1_is_weighted_and_its_tables_look_exchanged() -> None:
    rows = published.printed()
    assert len(rows) == 10 * 3
    solved = [p for p in rows if p.weighted_f1 is not None]
    near = [abs(p.weighted_f1 - p.f1) for p in solved if p.weighted_f1 is not None]
    assert len(solved) >= 20
    assert sorted(near)[int(0.9 * len(near))] < 0.025  # rates have two digits
    for data in ("CIFAR-10", "GTSRB"):
        for method in ("OOB", "ODIN"):
            shifted = [p for p in rows if (p.table, p.data, p.method) == ("IV", data, method)]
            assert len({p.fnr for p in shifted}) == 1  # whatever the corruption
        assert len({p.fpr for p in shifted}) == 3  # ODIN's
    snow = next(p for p in rows if (p.data, p.variation, p.method)
                == ("GTSRB", "snow (5)", "ALOOC"))  # fmt: skip
    assert snow.exchanged == pytest.approx((-0.81, 0.71, 1.0))
    assert rows[0].exchanged is None
    shares = [p.positives for p in rows if p.table == "IV" and p.data == "CIFAR-10"]
    assert np.median([s for s in shares if s is not None]) == pytest.approx(1 / 7, abs=0.01)
