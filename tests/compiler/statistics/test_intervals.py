"""Placements, and the error of the difference of two AUROCs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import roc_auc_score

from edgemon.compiler.statistics.intervals import auroc_gain, placements


@given(st.integers(0, 2**32 - 1), st.integers(2, 60), st.integers(1, 8))
def test_placements_of_either_side_have_the_auroc_as_their_mean(
    seed: int, n: int, levels: int
) -> None:
    rng = np.random.default_rng(seed)
    wrong = rng.permutation(np.arange(n) < max(1, n // 4))
    score = rng.integers(0, levels, n)  # with ties
    found, wanted = placements(score, wrong), roc_auc_score(wrong, score)
    np.testing.assert_allclose([found[wrong].mean(), found[~wrong].mean()], wanted)


def test_the_error_of_a_gain_is_its_spread_over_samples() -> None:
    rng = np.random.default_rng(0)
    gains, errors = [], []
    for _ in range(300):
        wrong = rng.random(400) < 0.2
        one = rng.normal(size=400) + wrong
        other = one + rng.normal(size=400)
        gain, error = auroc_gain(placements(one, wrong), placements(other, wrong), wrong)
        gains.append(gain)
        errors.append(error)
    assert 0.85 < np.mean(errors) / np.std(gains) < 1.15
    assert np.mean(gains) > 0.05
