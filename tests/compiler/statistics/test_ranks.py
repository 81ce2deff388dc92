"""Ranks, critical differences and pairs, beside scikit-posthocs and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import scikit_posthocs
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import rankdata

from edgemon.compiler.statistics.ranks import (
    Ranking,
    cliques,
    critical_difference,
    holm,
    pairs,
    signed_rank,
)


def values(sets: int, methods: int, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    found: np.ndarray = np.round(rng.normal(size=(sets, methods)) + np.arange(methods) / 3, 1)
    return found


def test_the_papers_critical_difference() -> None:
    assert critical_difference(3, 79) == pytest.approx(0.373, abs=0.0005)
    assert critical_difference(5, 30) == pytest.approx(1.113, abs=0.001)  # Demsar's q is 2.728


@pytest.mark.parametrize("methods", [3, 6, 24])
def test_nemenyi_is_that_of_scikit_posthocs(methods: int) -> None:
    found = values(25, methods)
    ranking = Ranking.of(found)
    p = scikit_posthocs.posthoc_nemenyi_friedman(found).to_numpy()
    assert ranking.critical_difference is not None
    gaps = np.abs(np.subtract.outer(ranking.ranks, ranking.ranks))
    np.testing.assert_array_equal(gaps > ranking.critical_difference, p < 0.05)
    assert (p < 0.05).any()


def test_friedman_has_ties_and_iman_davenport_follows_from_it() -> None:
    found = values(12, 4)
    ranks = rankdata(-found, axis=1)
    n, k = found.shape
    between = n * ((ranks.mean(axis=0) - (k + 1) / 2) ** 2).sum()
    chi2 = between / (((ranks - (k + 1) / 2) ** 2).sum() / (n * (k - 1)))
    ranking = Ranking.of(found)
    assert ranking.chi2 == pytest.approx(chi2)
    assert ranking.f == pytest.approx((n - 1) * chi2 / (n * (k - 1) - chi2))
    assert len(np.unique(found)) < found.size  # there are ties


def test_too_little_says_nothing() -> None:
    two = Ranking.of(values(10, 2))
    assert (two.chi2, two.f_p, two.differs) == (None, None, False)
    assert two.critical_difference == pytest.approx(critical_difference(2, 10))
    equal = Ranking.of(np.ones((5, 3)))
    assert (equal.ranks, equal.f_p) == ((2, 2, 2), None)
    assert Ranking.of(np.ones((5, 1))).critical_difference is None
    always = Ranking.of(np.tile([3.0, 2.0, 1.0], (9, 1)))
    assert (always.f, always.f_p, always.differs) == (None, 0, True)


def test_cliques_by_hand() -> None:
    ranks = np.array([3.0, 1.0, 1.5, 2.2, 4.5])
    assert cliques(ranks, 1.0) == ((1, 2), (2, 3), (3, 0))
    assert cliques(ranks, 1.3) == ((1, 2, 3), (3, 0))
    assert cliques(ranks, 0.4) == ()
    assert cliques(ranks, 9.0) == ((1, 2, 3, 0, 4),)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_holm_keeps_the_order_and_is_no_smaller(p: list[float]) -> None:
    found = np.array(holm(p))
    assert (found >= np.array(p) - 1e-15).all()
    assert (found <= np.minimum(1, len(p) * np.array(p)) + 1e-15).all()
    order = np.argsort(p, kind="stable")
    assert (np.diff(found[order]) >= 0).all()


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])


def test_a_clear_difference_is_probable_and_a_small_one_within_the_rope() -> None:
    rng = np.random.default_rng(1)
    clear = signed_rank(rng.normal(0.2, 0.05, 20), rope=0.01)
    assert clear[0] > 0.99
    assert signed_rank(rng.normal(0, 0.003, 20), rope=0.01)[1] > 0.99
    other = signed_rank(-rng.normal(0.2, 0.05, 20), rope=0.01)
    assert other[2] > 0.99
    assert sum(clear) == pytest.approx(1)


def test_pairs_compare_every_two() -> None:
    found = values(15, 3)
    found[:, 2] += 2
    compared = pairs(found, rope=0.01, seed=0)
    assert [(p.one, p.other) for p in compared] == [(0, 1), (0, 2), (1, 2)]
    assert compared[1].difference == pytest.approx((found[:, 0] - found[:, 2]).mean())
    assert compared[1].p_holm < 0.01
    assert compared[1].other_better > 0.99
    assert compared[1].p <= compared[1].p_holm
    (same,) = pairs(np.ones((5, 2)), rope=0.01, seed=0)
    assert (same.p, same.alike) == (1.0, 1.0)
