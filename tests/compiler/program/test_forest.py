"""Trees of scikit-learn as forests."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from edgemon.compiler.program import reference
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.quantise import quantise


@pytest.mark.parametrize("scale", [0.11, 0.1, 1 / 3, 0.5, 0.003906, 7.7])
@pytest.mark.parametrize("zero", [-128, -5, 0, 3])
def test_codes_that_the_tree_did_not_see_go_as_in_scikit_learn(scale: float, zero: int) -> None:
    """Trained on every second code, a threshold falls on the code between; whether it lies below
    or above is then a matter of the rounding to float32 that scikit-learn does."""
    tap = Tap("x", "int8", 1, float(np.float32(scale)), zero)
    codes = np.arange(-128, 128)[:, None].astype(np.int8)
    seen = codes[::2]
    wrong = np.arange(len(seen)) % 3 == 0
    tree = DecisionTreeClassifier(random_state=0).fit(tap.values(seen), wrong)
    forest = Forest.from_sklearn([tree.tree_], [tree.tree_.value[:, 0, 1]])
    b = Builder([tap], real=True)
    score = b.node("trees", 0, tables=forest.pack("float64"))
    predicted = b.node("argmax", 0)
    real = b.program(predicted, [Monitor("t", score, 0.5, 0.5)])
    expected = tree.predict(tap.values(codes))
    found = reference.evaluate(quantise(real), [codes])
    np.testing.assert_array_equal(found.scores[0], expected)
    np.testing.assert_array_equal(
        reference.run_real(real, [tap.values(codes)])[score][:, 0], expected
    )
