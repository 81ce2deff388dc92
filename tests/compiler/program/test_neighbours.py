"""The neighbours really sit on the thresholds: every node is reached, on all three sides."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.program import reference
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.grids import beside
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.neighbours import gathered, neighbours
from edgemon.compiler.program.quantise import quantise
from tests.compiler.programs import DTYPES, real_program, rows_of, taps_of


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_reachable_tree_node_is_met_at_its_threshold(dtype: str) -> None:
    rng = np.random.default_rng(4)
    taps = taps_of(dtype, rng)
    rows = rows_of(taps, rng)
    program = quantise(real_program(taps, rows, rng))
    node = next(n for n in program.nodes if n.op == "trees")
    tap = node.inputs[0]
    forest = Forest.unpack(node.tables, dtype)
    made = np.concatenate([block[tap] for block in neighbours(program, rows)])
    made = made[np.isfinite(made.astype(np.float64)).all(axis=1)]
    reached = set(forest.leaves(made).ravel().tolist())
    leaves = set(np.flatnonzero(forest.is_leaf).tolist())
    on_data = set(forest.leaves(rows[tap]).ravel().tolist())
    assert on_data <= reached <= leaves
    for index in np.flatnonzero(~forest.is_leaf):
        values = made[:, forest.feature[index]]
        for wanted in beside(forest.threshold[index], dtype):
            assert (values == wanted).any()


def test_box_bounds_are_met_with_their_class_predicted() -> None:
    rng = np.random.default_rng(4)
    taps = taps_of("int8", rng)
    rows = rows_of(taps, rng)
    program = quantise(real_program(taps, rows, rng))
    index, node = next((i, n) for i, n in enumerate(program.nodes) if n.op == "boxes")
    lower, _, _, first = node.tables
    blocks = list(neighbours(program, rows))
    made = np.concatenate([b[node.inputs[0]] for b in blocks])
    predicted = np.concatenate([b[2] for b in blocks]).argmax(axis=1)
    values = [reference.run_device(program, b)[0] for b in blocks]
    scores = np.concatenate([v[len(taps) + index][:, 0] for v in values])
    for c in range(first.size - 1):
        for b in range(int(first[c]), int(first[c + 1])):
            own = lower.reshape(-1, taps[1].length)[b]
            for d in range(taps[1].length):
                at = (predicted == c) & (made[:, d] == own[d])
                assert at.any()
    assert (scores == 0).any(), "some row lies exactly on a face"
    assert (scores > 0).any()
    assert (scores < 0).any()


def around_the_largest(monitors: int) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Rows, and all that are made of them: around thresholds of the same score."""
    b = Builder([Tap("output", "int8", 3, 0.5, 0)])
    largest = b.node("max", 0)
    judges = [Monitor(f"m{i}", largest, 4, 4) for i in range(monitors)]
    program = b.program(b.node("argmax", 0), judges)
    x = np.array([[1, 2, 3], [2, 3, 4], [4, 5, 6]], np.int8)
    return [x], [rows[0] for rows in neighbours(program, [x])]


def test_a_row_near_the_thresholds_of_several_monitors_is_moved_once() -> None:
    """A third of the rows around decisions was the row itself, once an element, and it all came
    again with each monitor."""
    (x,), one = around_the_largest(1)
    made = np.concatenate(one)
    np.testing.assert_array_equal(np.concatenate(around_the_largest(3)[1]), made)
    for row in x:
        assert (made == row).all(axis=1).sum() == 1
        for step in np.concatenate([np.eye(3, dtype=np.int8), -np.eye(3, dtype=np.int8)]):
            assert (made == row + step).all(axis=1).sum() == 1


def test_gathered_blocks_hold_the_same_rows_in_fewer_blocks() -> None:
    base, blocks = around_the_largest(1)
    many = [[x] for x in blocks for _ in range(300)]
    found = list(gathered(iter(many), base))
    joined = np.concatenate([x for (x,) in many])
    np.testing.assert_array_equal(np.concatenate([x for (x,) in found]), joined)
    assert max(len(x) for (x,) in found) <= 2048
    assert len(found) <= -(-len(joined) // (2048 - max(map(len, blocks))))
