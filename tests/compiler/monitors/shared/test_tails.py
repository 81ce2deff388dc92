"""Surprises: tail probabilities in steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.monitors.shared.tails import STEPS, Surprise

scores = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=300)


@given(scores, scores)
def test_surprise_is_monotone_bounded_and_a_tail_probability(
    reference: list[float], asked: list[float]
) -> None:
    ref, x = np.array(reference), np.sort(np.array(asked))
    surprise = Surprise.of(ref)
    found = surprise(x)
    assert (np.diff(found) >= 0).all()
    assert found.min() >= 0
    assert found.max() <= np.log(len(ref) + 1) + 1e-12
    assert len(surprise.values) == len(surprise.knots) + 1 <= STEPS + 1
    # Never more surprised than the exact tail probability just above the step's lower end.
    exact = -np.log((1 + (ref[None] >= x[:, None]).sum(axis=1)) / (len(ref) + 1))
    assert (found <= exact + 1e-12).all()


def test_few_reference_rows_are_exact() -> None:
    ref = np.array([1.0, 2.0, 3.0])
    found = Surprise.of(ref)(np.array([0.5, 1.5, 2.5, 3.0, 3.5]))
    np.testing.assert_allclose(np.exp(-found), [1, 3 / 4, 2 / 4, 2 / 4, 1 / 4])


def test_a_constant_signal_never_surprises() -> None:
    surprise = Surprise.of(np.full(100, 7.0))
    assert surprise(np.array([7.0]))[0] == 0
    assert surprise(np.array([8.0]))[0] == pytest.approx(np.log(101))
