"""Calibration errors, on answers whose calibration is known."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss

from edgemon.compiler.statistics.calibration import (
    brier,
    classwise_error,
    expected_calibration_error,
    reliability,
)


def test_a_calibrated_confidence_has_no_error_and_a_shifted_one_has_its_shift() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.3, 0.8, 200_000)
    right = rng.random(len(confidence)) < confidence
    assert expected_calibration_error(confidence, right) < 0.005
    assert expected_calibration_error(confidence + 0.15, right) == pytest.approx(0.15, abs=0.005)


def test_every_answer_is_in_one_bin() -> None:
    confidence = np.array([0.0, 0.1, 0.5, 0.50001, 1.0])
    found = reliability(confidence, np.ones(5, bool), bins=2)
    assert [b.rows for b in found] == [3, 2]
    assert found[1].accuracy == 1
    assert found[1].interval is not None
    empty = reliability(np.ones(3), np.ones(3, bool))[0]
    assert (empty.rows, empty.accuracy, empty.interval) == (0, None, None)


def test_brier_is_twice_that_of_two_classes() -> None:
    rng = np.random.default_rng(1)
    p = rng.random(500)
    truth = rng.integers(0, 2, 500)
    both = np.stack([1 - p, p], axis=1)
    assert brier(both, truth) == pytest.approx(2 * brier_score_loss(truth, p))
    assert brier(np.array([[1.0, 0.0]]), np.array([-1])) == 1


def test_classwise_errors_see_a_class_that_is_swapped() -> None:
    rng = np.random.default_rng(2)
    z = rng.normal(0, 1, (50_000, 3))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    classes = np.array([rng.choice(3, p=row) for row in p])
    assert classwise_error(p, classes) < 0.01
    assert classwise_error(p[:, [1, 0, 2]], classes) > 0.1
