"""The baselines: what each is on the rows that it learned from, and on made ones."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.estimation.unlabelled import (
    BASELINES,
    Outputs,
    largest,
    negative_entropy,
    temperature_of,
    tempered,
    threshold,
)


def _made(temperature: float, n: int = 4000) -> Outputs:
    """Rows whose softmax vectors are calibrated, then sharpened by a temperature below 1."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 1.5, (n, 5))
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    classes = np.array([rng.choice(5, p=own) for own in p])
    shown = tempered(p, temperature)
    return Outputs(shown, classes, shown.argmax(axis=1) == classes)


@pytest.mark.parametrize("name", ["mp", "entropy", "doc"])
def test_what_is_learned_gives_the_accuracy_of_the_reference_rows(name: str) -> None:
    rows = _made(0.5)
    baseline = BASELINES[name]
    found = baseline.estimate(rows.p, baseline.fit(rows))
    assert found == pytest.approx(rows.right.mean(), abs=0.001)


def test_the_temperature_that_sharpened_is_found_again() -> None:
    rows = _made(0.5)
    assert temperature_of(rows.p, rows.classes) == pytest.approx(2, rel=0.1)
    baseline = BASELINES["temperature_reference"]
    found = baseline.estimate(rows.p, baseline.fit(rows))
    assert found == pytest.approx(rows.right.mean(), abs=0.02)
    assert BASELINES["mp_star"].estimate(rows.p, 0) > rows.right.mean() + 0.1


def test_labels_of_no_class_say_nothing_of_a_temperature() -> None:
    rows = _made(0.5)
    some = np.where(np.arange(len(rows.p)) % 2, rows.classes, -1)
    assert temperature_of(rows.p, some) == pytest.approx(2, rel=0.15)
    assert temperature_of(rows.p, np.full(len(rows.p), -1)) == 1


def test_a_threshold_at_ties_is_the_nearest_share() -> None:
    scores = np.array([0.2, 0.9, 0.9, 0.9])
    assert (scores > threshold(scores, np.array([False, False, True, True]))).sum() == 3
    assert (scores > threshold(scores, np.zeros(4, bool))).sum() == 0
    assert (scores > threshold(scores, np.ones(4, bool))).sum() == 4


def test_certain_vectors_have_no_entropy_and_logarithms_of_0_do_not_matter() -> None:
    p = np.array([[1.0, 0, 0], [1 / 3, 1 / 3, 1 / 3]])
    assert negative_entropy(p) == pytest.approx([0, -np.log(3)])
    assert largest(p) == pytest.approx([1, 1 / 3])
