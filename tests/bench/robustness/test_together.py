"""Answers that are combined: where pairs add something, and where not."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.bench.errors import BenchError
from edgemon.bench.robustness.together import COMBINERS, Pairs, combine, find

CLASSES = np.repeat(np.arange(4), 200)
DIGITS = np.arange(4)


def _predicted(shift: int, rate: float = 0.8) -> np.ndarray:
    rng = np.random.default_rng(0)
    wrong = rng.random(len(CLASSES)) > rate
    return np.where(wrong, (CLASSES + shift) % 4, CLASSES)


def _of(name: str, predicted: np.ndarray, confidence: np.ndarray | None = None):  # type: ignore[no-untyped-def]
    pairs = Pairs.drawn(CLASSES, COMBINERS[name], 200, 0)
    sure = np.ones(len(CLASSES)) if confidence is None else confidence
    return combine(COMBINERS[name], pairs, CLASSES, predicted, sure, DIGITS, 0)


def test_pairs_that_must_both_be_right_add_nothing() -> None:
    found = _of("both", _predicted(1))
    assert found.masked == 0
    assert found.rate == pytest.approx(found.product, abs=0.01)
    assert found.adds_nothing


def test_errors_that_cancel_are_masked_and_counted_apart() -> None:
    rng = np.random.default_rng(1)
    off = rng.choice([-1, 0, 1], len(CLASSES), p=[0.3, 0.4, 0.3])
    found = _of("add", np.clip(CLASSES + off, 0, 3))
    assert found.masked > 0.1
    assert found.excess == pytest.approx(found.masked, abs=0.03)
    assert not found.adds_nothing


def test_the_surer_of_two_frames_is_right_more_often() -> None:
    predicted = _predicted(2)
    right = predicted == CLASSES
    found = _of("vote", predicted, np.where(right, 0.9, 0.4))
    assert found.rate > 0.93
    assert found.masked > 0.2


def test_no_answer_is_never_right() -> None:
    found = _of("add", np.full(len(CLASSES), -1))
    assert (found.rate, found.product, found.masked) == (0, 0, 0)


def test_pairs_are_of_different_rows_of_every_two_classes() -> None:
    pairs = Pairs.drawn(CLASSES, COMBINERS["add"], 50, 0)
    assert (pairs.first != pairs.second).all()
    seen = set(zip(CLASSES[pairs.first].tolist(), CLASSES[pairs.second].tolist(), strict=True))
    assert len(seen) == 16
    same = Pairs.drawn(CLASSES, COMBINERS["vote"], 50, 0)
    assert (CLASSES[same.first] == CLASSES[same.second]).all()


def test_digits_are_added_by_their_names_and_words_are_not() -> None:
    name, combiner, values = find("", ["7", "3"])
    assert (name, values.tolist()) == ("add", [7, 3])
    assert combiner.numeric
    assert find("", ["cat", "dog"])[0] == "both"
    with pytest.raises(BenchError, match="use --combine both"):
        find("add", ["cat", "dog"])
    with pytest.raises(BenchError, match="add, both, max, vote"):
        find("sum", ["1", "2"])
