"""Novelty counts as much as errors allow."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from edgemon.compiler.monitors.fusion.novelty_weight import (
    FALSE_ALARMS,
    LEAST,
    MOST,
    MOST_LOST,
    novelty_weight,
)
from edgemon.compiler.statistics.tuning import FEWEST_ERRORS


def evidence(share: float, seed: int, n: int = 3000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Surprises of a stack, and of novelty that knows a share of the errors."""
    rng = np.random.default_rng(seed)
    wrong = rng.random(n) < 0.15
    stack = rng.exponential(1, n) + 3 * wrong
    return stack, 2 * rng.exponential(1, n) + 6 * share * wrong, wrong


def partial_auroc(score: np.ndarray, wrong: np.ndarray) -> float:
    return float(roc_auc_score(wrong, score, max_fpr=FALSE_ALARMS))


def test_novelty_that_knows_nothing_of_errors_has_the_least_weight() -> None:
    assert novelty_weight(*evidence(0.0, 0)) == LEAST


def test_novelty_that_sees_errors_too_has_the_most() -> None:
    assert novelty_weight(*evidence(1.0, 0)) == MOST


@settings(max_examples=15, deadline=None)
@given(st.floats(0, 1), st.integers(0, 99))
def test_what_is_above_the_least_costs_no_more_than_is_said(share: float, seed: int) -> None:
    stack, novelty, wrong = evidence(share, seed, 800)
    found = novelty_weight(stack, novelty, wrong)
    assert LEAST <= found <= MOST
    lost = partial_auroc(stack, wrong) - partial_auroc(stack + found * novelty, wrong)
    assert found == LEAST or lost <= MOST_LOST


def test_few_errors_bound_nothing() -> None:
    stack, novelty, wrong = evidence(1.0, 0)
    few = wrong & (np.cumsum(wrong) < FEWEST_ERRORS)
    assert novelty_weight(stack, novelty, few) == LEAST
