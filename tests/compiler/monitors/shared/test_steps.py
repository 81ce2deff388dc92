"""Forests that sum step functions."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.monitors.shared.steps import forest_of
from edgemon.compiler.monitors.shared.tails import Surprise
from edgemon.compiler.program.forest import Forest

scores = st.lists(st.floats(-100, 100, width=32), min_size=1, max_size=300)


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
