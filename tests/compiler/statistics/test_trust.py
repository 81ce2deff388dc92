"""Trust as the paper defines it, and where it contradicts itself."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.errors import DataError
from edgemon.compiler.statistics.trust import (
    POINTS,
    density,
    measure,
    of_conditional,
    question_answer_trust,
)

# Table 1 of the paper: share of right answers, mean confidence of right and of wrong answers, and
# the NetTrustScore.
TABLE_1 = {
    "MobileNet-V1": (0.645, 0.839, 0.515, 0.713),
    "ShuffleNet-V2": (0.661, 0.839, 0.502, 0.723),
    "MobileNet-V2": (0.687, 0.845, 0.493, 0.739),
    "ResNet-50": (0.756, 0.887, 0.565, 0.776),
}


@pytest.mark.parametrize("name", TABLE_1)
def test_the_published_scores_follow_from_their_conditional_confidences(name: str) -> None:
    accuracy, right, wrong, published = TABLE_1[name]
    assert of_conditional(accuracy, right, wrong) == pytest.approx(published, abs=0.001)


def test_the_published_scores_do_not_follow_from_joint_confidences() -> None:
    for accuracy, right, wrong, published in TABLE_1.values():
        joint = of_conditional(accuracy, accuracy * right, (1 - accuracy) * wrong)
        assert abs(joint - published) > 0.05


def _made(n: int = 4000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.2, 1, n)
    return confidence, rng.random(n) < confidence, rng.integers(0, 3, n)


def test_the_score_is_what_the_conditional_confidences_say() -> None:
    confidence, right, scenario = _made()
    found = measure(confidence, right, scenario, 3)
    assert found.confidence_right is not None
    assert found.confidence_wrong is not None
    again = of_conditional(found.accuracy, found.confidence_right, found.confidence_wrong)
    assert found.net_trust_score == pytest.approx(again, abs=1e-12)


def test_joint_confidences_are_shares_of_the_conditional_ones() -> None:
    confidence, right, scenario = _made()
    one = measure(confidence, right, scenario, 3)
    joint = measure(confidence, right, scenario, 3, joint=True)
    assert joint.net_trust_score == one.net_trust_score
    assert joint.confidence_right == pytest.approx(one.accuracy * (one.confidence_right or 0))
    assert joint.confidence_wrong == pytest.approx((1 - one.accuracy) * (one.confidence_wrong or 0))


def test_a_uniform_prior_weighs_classes_alike() -> None:
    confidence, right, _ = _made()
    scenario = (np.arange(len(right)) < 100).astype(np.int64)
    found = measure(confidence, right, scenario, 3, prior="uniform")
    trusts = [s.trust for s in found.spectrum if s.trust is not None]
    assert len(trusts) == 2
    assert found.net_trust_score == pytest.approx(np.mean(trusts))
    assert found.interval is None


def test_each_scenario_has_its_rows_also_labels_of_no_class() -> None:
    confidence, right, scenario = _made()
    scenario[:7] = -1
    found = measure(confidence, right, scenario, 4)
    by_class = {s.scenario: s for s in found.spectrum}
    assert by_class[None].rows == 7
    assert by_class[3].trust is by_class[3].interval is None
    assert sum(s.rows for s in found.spectrum) == len(right)
    low, high = found.interval or (1.0, 0.0)
    assert low < found.net_trust_score < high


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_a_density_integrates_to_one(values: list[float]) -> None:
    places, found = density(np.array(values))
    assert places.shape == found.shape == (POINTS,)
    assert found.min() >= 0
    assert found.sum() / POINTS == pytest.approx(1, abs=1e-3)


def test_a_density_is_where_the_answers_are() -> None:
    places, found = density(np.array([0.2] * 400 + [0.8] * 100))
    near = np.abs(places - 0.2) < 0.1
    assert found[near].sum() / POINTS == pytest.approx(0.8, abs=0.01)
    half = 0.5 / np.sqrt(500)
    peak = found[np.argmin(np.abs(places - 0.2))]
    assert peak == pytest.approx(0.8 / (half * np.sqrt(2 * np.pi)), rel=0.05)


def test_exponents_bend_trust() -> None:
    q = question_answer_trust(np.array([0.5, 0.5]), np.array([True, False]), alpha=2.0, beta=3.0)
    assert q.tolist() == [0.25, 0.125]
    with pytest.raises(DataError, match="positive"):
        question_answer_trust(np.array([0.5]), np.array([True]), alpha=0.0)


def test_no_rows_are_refused() -> None:
    none = np.zeros(0)
    with pytest.raises(DataError, match="no rows"):
        measure(none, none.astype(bool), none.astype(np.int64), 2)
