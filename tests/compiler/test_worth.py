"""Weak monitors say what they are: marks by intervals, on scores made by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.metrics import roc_auc_score

from edgemon.compiler.report.worth import about_worth
from edgemon.compiler.statistics.intervals import (
    auroc_difference_interval,
    auroc_gain,
    placements,
)
from edgemon.compiler.worth import Judged, is_weak, marked

ROWS = 2000


def scores(signal: float, seed: int, wrong: np.ndarray) -> np.ndarray:
    return signal * wrong + np.random.default_rng(seed).normal(size=len(wrong))


@pytest.fixture
def wrong() -> np.ndarray:
    return np.random.default_rng(0).random(ROWS) < 0.15


def judged(score: np.ndarray, share: float = 0.05) -> Judged:
    return Judged(rankdata(score), score > np.quantile(score, 1 - share))


def test_the_error_of_a_gain_is_that_of_new_rows(wrong: np.ndarray) -> None:
    """DeLong's error of a difference against the spread over rows drawn anew."""
    found = []
    for seed in range(300):
        a = scores(1.0, seed, wrong)
        b = a + np.random.default_rng(1000 + seed).normal(size=ROWS)
        gain, error = auroc_gain(placements(a, wrong), placements(b, wrong), wrong)
        assert gain == pytest.approx(roc_auc_score(wrong, a) - roc_auc_score(wrong, b))
        found.append((gain, error**2))
    gains, variances = np.array(found).T
    assert np.var(gains) == pytest.approx(variances.mean(), rel=0.25)


def test_an_interval_of_a_difference_knows_that_scores_are_of_the_same_rows(
    wrong: np.ndarray,
) -> None:
    a = scores(1.0, 1, wrong)
    assert auroc_difference_interval(a, np.exp(a), wrong) == (0.0, 0.0)  # the same ranking
    low, high = auroc_difference_interval(a, a + scores(0.0, 2, wrong), wrong) or (0, 0)
    assert 0 < low < high
    one_wrong = np.arange(ROWS) == 7
    assert auroc_difference_interval(a, a, one_wrong) is None


def test_marks(wrong: np.ndarray) -> None:
    """`box` took 131 kB for an MCC of 0.05, and looked like any other monitor."""
    softmax = judged(scores(1.5, 1, wrong))
    noise, same = judged(scores(0.0, 2, wrong)), judged(scores(1.5, 3, wrong))
    assert is_weak(noise, wrong)
    assert marked(noise, ((-0.4, -0.3), (-0.3, -0.2)), wrong) == "weak"
    assert marked(same, ((-0.01, 0.02), (-0.05, 0.05)), wrong) == "no better"
    assert marked(same, ((0.01, 0.02), (-0.05, 0.05)), wrong) == "better"
    assert marked(same, ((-0.02, -0.01), None), wrong) == "worse"
    assert marked(same, ((0.01, 0.02), (-0.05, -0.01)), wrong) == "no better"
    assert marked(softmax, ((0, 0), (0, 0)), wrong, is_softmax=True) == "softmax"
    never = Judged(same.rank, np.zeros(ROWS, bool))
    assert is_weak(never, wrong)  # a good ranking whose threshold alarms never


def monitor(mark: str, instead: str | None, kind: str = "box") -> Any:
    return {
        "name": "hull", "kind": kind, "bytes": 131 * 1024,
        "metrics": {"auroc": 0.6, "auroc_interval": [0.55, 0.65], "mcc_interval": [-0.01, 0.05]},
        "worth": {
            "mark": mark, "instead": instead, "auroc_beyond": [-0.3, -0.2], "mcc_beyond": None,
        },
    }  # fmt: skip


def test_a_finding_names_the_better_one() -> None:
    ((kind, text),) = about_worth(monitor("weak", "errors"), ["hull", "errors"])
    assert kind == "weak_monitor"
    assert text.endswith("errors, in the same bundle, is better.")
    ((kind, text),) = about_worth(monitor("worse", "msp_t"), ["hull"])
    assert kind == "no_better_than_softmax"
    assert "131.0 kB and is worse than the plain softmax" in text
    assert "AUROC -0.300 to -0.200" in text
    assert text.endswith("(--monitor msp_t).")
    assert not list(about_worth(monitor("better", None), ["hull"]))
    assert not list(about_worth(monitor("no better", None, "msp_t"), ["hull"]))
