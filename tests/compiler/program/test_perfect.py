"""Trees of one depth: the same sums as the forest they come from, and one structure of classes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from sklearn.ensemble import RandomForestClassifier

from edgemon.bench.peers import own
from edgemon.compiler.emit import flat
from edgemon.compiler.errors import CompileError
from edgemon.compiler.program import reference
from edgemon.compiler.program.forest import MAX_NODES, Forest
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.perfect import PerfectForest, keys_of, values_of
from edgemon.compiler.program.quantise import quantise
from edgemon.runtime.monitor import Monitor as LoadedMonitor

FEATURES = 8


def fitted(trees: int, depth: int, classes: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(trees + depth)
    x = rng.normal(0, 9, (400, FEATURES)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] > x[:, 2]).astype(int) + (classes > 2) * rng.integers(
        0, classes - 1, 400
    )
    return RandomForestClassifier(trees, max_depth=depth, random_state=0).fit(x[:200], y[:200]), x


@pytest.mark.parametrize(
    ("trees", "depth", "classes", "op"),
    [(7, 3, 2, "perfect_trees"), (5, 6, 4, "perfect_trees"), (3, 16, 2, "trees")],
)
def test_answers_are_those_of_scikit_learn(trees: int, depth: int, classes: int, op: str) -> None:
    model, x = fitted(trees, depth, classes)
    program = own.program(model, FEATURES)
    assert op in {node.op for node in program.nodes}
    loaded = LoadedMonitor(flat.write(flat.Artifact(program, "00" * 32, {})))
    expected = model.predict_proba(x).argmax(axis=1)
    np.testing.assert_array_equal(loaded.evaluate([x]).predicted, expected)
    np.testing.assert_array_equal(reference.evaluate(program, [x]).predicted, expected)


def test_a_program_of_early_exit_gives_the_same_answers() -> None:
    model, x = fitted(3, 16, 2)
    program = own.program(model, FEATURES, early_exit=True)
    assert "early_trees" in {node.op for node in program.nodes}
    loaded = LoadedMonitor(flat.write(flat.Artifact(program, "00" * 32, {})))
    np.testing.assert_array_equal(loaded.evaluate([x]).predicted, model.predict(x))
    plain = LoadedMonitor(flat.write(flat.Artifact(own.program(model, FEATURES), "00" * 32, {})))
    assert loaded.work == plain.work  # the bound stays


def test_classes_share_one_structure() -> None:
    """Every class had a copy of every tree."""
    few, many = (
        len(flat.write(flat.Artifact(own.program(fitted(20, 6, n)[0], FEATURES), "00" * 32, {})))
        for n in (4, 10)
    )
    assert many < 2 * few


def test_forests_of_more_nodes_than_a_table_holds_are_divided() -> None:
    model, x = fitted(3, 16, 2)
    trees = [t.tree_ for t in model.estimators_]
    forest = Forest.from_sklearn(trees, [np.arange(t.node_count) for t in trees])
    parts = forest.parts_of(max(t.node_count for t in trees))
    assert len(parts) > 1
    assert [p.check(FEATURES) for p in parts] == [None] * len(parts)
    np.testing.assert_array_equal(sum(p.sums(x) for p in parts), forest.sums(x))
    with pytest.raises(CompileError, match=r"tree 0 has .* nodes, and a table holds 3"):
        forest.parts_of(3)


def test_more_than_65536_nodes_are_evaluated() -> None:
    """A table of trees was refused."""
    rng = np.random.default_rng(3)
    x = rng.normal(0, 9, (6000, FEATURES)).astype(np.float32)
    model = RandomForestClassifier(30, random_state=0, max_features=1)
    model.fit(x, rng.integers(0, 2, 6000))
    assert sum(t.tree_.node_count for t in model.estimators_) > MAX_NODES
    program = own.program(model, FEATURES)
    assert sum(node.op == "trees" for node in program.nodes) > 1
    loaded = LoadedMonitor(flat.write(flat.Artifact(program, "00" * 32, {})))
    np.testing.assert_array_equal(loaded.evaluate([x[:300]]).predicted, model.predict(x[:300]))


@given(arrays.arrays(np.float32, 20, elements=st.floats(width=32, allow_nan=False)))
def test_keys_are_in_the_order_of_their_numbers(x: Any) -> None:
    x = x + np.float32(0)  # -0 has a key of its own
    keys = keys_of(x)
    np.testing.assert_array_equal(keys[:, None] < keys[None], x[:, None] < x[None])
    np.testing.assert_array_equal(values_of(keys, "float32"), x)
    assert keys_of(np.float32([-0.0]))[0] < keys_of(np.float32([0]))[0]


@given(arrays.arrays(np.int32, 20))
def test_keys_of_integers_too(x: Any) -> None:
    keys = keys_of(x)
    np.testing.assert_array_equal(keys[:, None] < keys[None], x[:, None] < x[None])
    np.testing.assert_array_equal(values_of(keys, "int32"), x)


def test_pruned_is_the_same_forest() -> None:
    rng = np.random.default_rng(0)
    for outputs in (1, 3):
        perfect = PerfectForest(
            keys_of(rng.integers(-3, 3, (4, 7)).astype(np.float32)),
            rng.integers(0, FEATURES, (4, 7)).astype(np.int16),
            rng.integers(0, 3, (4, 8)).astype(np.int16),
            rng.integers(-9, 9, (3, outputs)).astype(np.int16),
        )
        forest = perfect.pruned("float32")
        forest.check(FEATURES)
        x = rng.integers(-4, 4, (200, FEATURES)).astype(np.float32)
        np.testing.assert_array_equal(forest.sums(x), perfect.sums(x))
        again = PerfectForest.of(forest, "float32", FEATURES)
        assert again is not None
        np.testing.assert_array_equal(again.sums(x), perfect.sums(x))


def test_a_leaf_that_16_bits_do_not_hold_keeps_its_record() -> None:
    model, _ = fitted(7, 3, 2)
    trees = [t.tree_ for t in model.estimators_]
    builder = Builder([Tap("x", "float32", FEATURES, 1.0)], real=True)
    for worth, op in ((9.0, "perfect_trees"), (40000.0, "trees")):
        forest = Forest.from_sklearn(trees, [np.full(t.node_count, worth) for t in trees])
        score = builder.node("trees", 0, tables=forest.pack("float64"))
        chosen = builder.node("exceeds", score, tables=[np.zeros(1)])
        program = builder.program(chosen, [Monitor("m", score, 0, 0)])
        assert quantise(replace(program)).trimmed().nodes[-2].op == op
