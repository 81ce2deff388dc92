"""Metrics: definitions, what is undefined, intervals, and the corrected and printed tables."""

from __future__ import annotations

from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap as scipy_bootstrap
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from edgemon.compiler.statistics.intervals import (
    RankingIntervals,
    auroc_interval,
    clopper_pearson,
    mcc_difference_interval,
    mcc_interval,
)
from edgemon.compiler.statistics.metrics import (
    Confusion,
    RiskCoverage,
    aupr,
    aupr_right,
    auroc,
    fpr_at_95_tpr,
    legacy,
    measure,
)
from tests.compiler.methods import published


def _percent(value: float | None) -> float:
    return round(100 * (value or 0.0), 2)


@pytest.mark.usefixtures("shared")
def test_corrected_tables_and_in_legacy_mode_only_the_printed_ones() -> None:
    corrected = published.read_csv(published.PACK / "expected" / "corrected_table5_table7.csv")
    printed = {
        (tool, r["model"]): r
        for tool, table in (("prophecy", "table5_prophecy"), ("deepinfer", "table7_deepinfer"))
        for r in published.read_csv(published.PACK / "expected" / f"{table}.csv")
    }
    assert len(corrected) == 60
    for row in corrected:
        old = printed[row["tool"], row["model"]]
        found = Confusion(*(int(row[k]) for k in ("tp", "fp", "tn", "fn")))
        assert _rounded(found) == [
            *(float(row[k]) for k in ("tpr_pct", "fpr_pct", "precision_pct", "f1_pct", "mcc"))
        ]
        exchanged = legacy(found)
        assert astuple(exchanged) == tuple(int(old[k]) for k in ("tp", "fp", "tn", "fn"))
        assert _rounded(exchanged) == [
            *(float(old[k]) for k in ("tpr_pct", "fpr_pct", "precision_pct", "f1_pct", "mcc"))
        ]
        honest = astuple(found) == astuple(exchanged)
        assert honest == (found.tp == found.fp)


@pytest.mark.usefixtures("shared")
def test_corrected_replication_table() -> None:
    for row in published.read_csv(published.PACK / "expected" / "corrected_table3_confusion.csv"):
        found = Confusion(*(int(row[k]) for k in ("tp", "fp", "tn", "fn")))
        assert round(found.mcc or 0.0, 3) == float(row["mcc"]), row["model"]


def _rounded(found: Confusion) -> list[float]:
    shares = (found.tpr, found.fpr, found.precision, found.f1)
    return [*(_percent(v) for v in shares), round(found.mcc or 0.0, 3)]


def test_undefined_is_none() -> None:
    nothing = Confusion(0, 0, 5, 0)
    assert (nothing.tpr, nothing.precision, nothing.f1, nothing.mcc) == (None,) * 4
    assert nothing.tpr_interval() is None
    assert Confusion(0, 0, 5, 3).f1 == 0.0
    never = np.zeros(4, bool)
    found = measure(never, never, np.arange(4.0))
    assert (found.mcc, found.mcc_interval, found.auroc, found.auroc_interval, found.aupr) == (
        (None,) * 5
    )


def test_a_fault_ranks_first_and_needs_no_number() -> None:
    wrong = np.array([True, False, False])
    found = measure(wrong, wrong, np.array([np.inf, 2.0, 1.0]))
    assert (found.auroc, found.aupr, found.aurc) == (1.0, 1.0, pytest.approx(1 / 18))


def test_clopper_pearson_edges() -> None:
    assert clopper_pearson(0, 10) == pytest.approx((0.0, 0.3084971))
    assert clopper_pearson(10, 10) == pytest.approx((0.6915029, 1.0))


def test_risk_coverage_takes_ties_together() -> None:
    curve = RiskCoverage.of(np.array([0.0, 1.0, 1.0, 2.0]), np.array([False, True, False, True]))
    assert curve.coverage.tolist() == [0.25, 0.75, 1.0]
    assert curve.risk.tolist() == [0.0, pytest.approx(1 / 3), 0.5]


def test_bootstrap_intervals_agree_with_scipy() -> None:
    rng = np.random.default_rng(0)
    wrong = rng.random(400) < 0.3
    score = np.round(rng.normal(size=400) + wrong, 1)
    alarm = score > 1
    area = auroc_interval(score, wrong)
    again = scipy_bootstrap(
        (score, wrong), lambda s, w: roc_auc_score(w, s), paired=True, vectorized=False,
        n_resamples=300, method="percentile", rng=1,
    ).confidence_interval  # fmt: skip
    assert area == pytest.approx((again.low, again.high), abs=0.015)
    found = mcc_interval(astuple(Confusion.of(alarm, wrong)))
    again = scipy_bootstrap(
        (alarm, wrong), lambda a, w: Confusion.of(a, w).mcc, paired=True, vectorized=False,
        n_resamples=200, method="percentile", rng=1,
    ).confidence_interval  # fmt: skip
    assert found == pytest.approx((again.low, again.high), abs=0.03)
    assert auroc_interval(score, wrong) == area  # seeded
    assert auroc(score, wrong) == pytest.approx(np.mean(area), abs=0.03)


def test_the_interval_of_a_difference() -> None:
    """Equal alarms differ by nothing; a far better one by what the metrics say."""
    rng = np.random.default_rng(0)
    wrong = rng.random(3000) < 0.2
    good, bad = wrong ^ (rng.random(3000) < 0.05), wrong ^ (rng.random(3000) < 0.3)
    assert mcc_difference_interval(good, good, wrong) == (0.0, 0.0)
    found = mcc_difference_interval(good, bad, wrong)
    assert found is not None
    one, other = measure(good, wrong).mcc, measure(bad, wrong).mcc
    assert one is not None
    assert other is not None
    assert found[0] < one - other < found[1]
    assert found[1] - found[0] < 0.12


rankings = st.lists(st.tuples(st.integers(0, 9), st.booleans()), min_size=2, max_size=60).map(
    lambda rows: (np.array([v for v, _ in rows], float), np.array([w for _, w in rows]))
)


@given(rankings)
def test_right_answers_are_ranked_from_the_other_end(rows: tuple[np.ndarray, np.ndarray]) -> None:
    score, wrong = rows
    assert aupr_right(score, wrong) == aupr(-score, ~wrong)
    if wrong.all():
        assert aupr_right(score, wrong) is None


@given(rankings)
def test_false_alarms_at_95_percent_caught_are_those_of_the_best_threshold(
    rows: tuple[np.ndarray, np.ndarray],
) -> None:
    score, wrong = rows
    found = fpr_at_95_tpr(score, wrong)
    if wrong.all() or not wrong.any():
        assert found is None
        return
    enough = [t for t in score if 100 * int((score[wrong] >= t).sum()) >= 95 * int(wrong.sum())]
    assert found == pytest.approx(min((score[~wrong] >= t).mean() for t in enough))


@given(rankings, st.integers(0, 9))
def test_measures_of_a_draw_are_those_of_its_rows(
    rows: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    """One draw is an interval of one value: that of the rows that were drawn."""
    score, wrong = rows
    found = RankingIntervals.of(score, wrong, seed=seed, resamples=1)
    order = np.argsort(score, kind="stable")
    drawn = order[np.random.default_rng(seed).integers(0, len(score), len(score))]
    for name, measure_of in (
        ("auroc", auroc), ("aupr", aupr), ("aupr_right", aupr_right),
        ("fpr_at_95_tpr", fpr_at_95_tpr),
    ):  # fmt: skip
        value, interval = measure_of(score[drawn], wrong[drawn]), getattr(found, name)
        assert interval == (None if value is None else pytest.approx((value, value)))


def test_every_measure_of_a_ranking_lies_in_its_interval() -> None:
    rng = np.random.default_rng(0)
    wrong = rng.random(400) < 0.3
    score = rng.normal(size=400) + wrong
    found = measure(score > 0.5, wrong, score)
    for name in ("auroc", "aupr", "aupr_right", "fpr_at_95_tpr"):
        low, high = getattr(found, f"{name}_interval")
        assert low < getattr(found, name) < high
    assert found.auroc_interval == auroc_interval(rankdata(score), wrong)
    assert found.aupr_right is not None
    assert found.aupr is not None
    assert found.aupr_right > 0.7 > found.aupr
