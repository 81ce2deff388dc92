"""Surprises and the forests that sum them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.monitors.fusion.tails import STEPS, Surprise, forest_of
from edgemon.compiler.program.forest import Forest

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


@given(st.lists(scores, min_size=1, max_size=4), st.integers(0, 99))
def test_a_forest_sums_the_steps_of_all_features(references: list[list[float]], seed: int) -> None:
    surprises = [Surprise.of(np.array(r)) for r in references]
    tables = [(s.knots, np.rint(100 * s.values)) for s in surprises]
    forest = forest_of(tables)
    forest.check(len(tables))
    rng = np.random.default_rng(seed)
    x = np.column_stack([rng.choice([*r, *rng.normal(0, 100, 5)], 50) for r in references])
    found = forest.value[forest.leaves(x)].sum(axis=1)
    expected = sum(np.rint(100 * s(c)) for s, c in zip(surprises, x.T, strict=True))
    np.testing.assert_array_equal(found, expected)
    assert max(forest.depths) <= 7
    again = Forest.unpack(forest.pack("float64"), "float64")
    np.testing.assert_array_equal(again.threshold, forest.threshold)


def test_a_constant_signal_never_surprises() -> None:
    surprise = Surprise.of(np.full(100, 7.0))
    assert surprise(np.array([7.0]))[0] == 0
    assert surprise(np.array([8.0]))[0] == pytest.approx(np.log(101))
