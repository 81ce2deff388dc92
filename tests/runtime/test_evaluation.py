"""Rows of results, taken and joined."""

from __future__ import annotations

import numpy as np

from edgemon.compiler.proof.prove import differing_rows
from edgemon.runtime.evaluation import Evaluation


def _results(n: int) -> Evaluation:
    rng = np.random.default_rng(n)
    return Evaluation(
        rng.integers(0, 4, n).astype(np.uint8),
        rng.integers(-9, 1, n).astype(np.int32),
        rng.integers(0, 5, n).astype(np.int32),
        rng.integers(0, 4, (n, 2)).astype(np.uint8),
        (rng.integers(0, 99, n), rng.random(n).astype(np.float32)),
    )


def test_blocks_of_taken_rows_join_to_the_whole() -> None:
    whole = _results(7)
    again = Evaluation.joined([whole.take(np.arange(4)), whole.take([4, 5, 6])])
    assert not differing_rows(whole, again).any()
    assert [s.dtype for s in again.scores] == [np.dtype(np.int64), np.dtype(np.float32)]


def test_rows_are_taken_in_the_order_that_is_asked_for() -> None:
    whole = _results(5)
    assert whole.take([3, 0]).scores[0].tolist() == [whole.scores[0][3], whole.scores[0][0]]
