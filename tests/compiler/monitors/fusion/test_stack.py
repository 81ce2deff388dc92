"""Folds on which the signals of a stack are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgemon.compiler.cost.bill import Cost
from edgemon.compiler.monitors.fusion import stack
from edgemon.compiler.statistics import tuning
from edgemon.targets import Budget


def _choose(surprises: np.ndarray, wrong: np.ndarray, groups: Any) -> list[stack.Choice]:
    names = [f"s{i}" for i in range(surprises.shape[1])]
    free = Cost(0, None)
    alone = [free] * len(names)
    return stack.choose(names, surprises, wrong, lambda _: free, alone, Budget(), 0, groups)


def test_no_group_is_in_two_folds(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(80), 5)
    wrong = rng.random(80)[groups] < 0.3
    seen: list[Any] = []

    def nothing(_x: Any, _wrong: Any, folds: Any) -> Any:
        seen.append(folds)
        return np.full(sum(len(judge) for _, judge in folds), 0.5)

    monkeypatch.setattr(stack, "_out_of_fold", nothing)
    _choose(rng.random((400, 3)), wrong, groups)
    assert len(seen[0]) == tuning.FOLDS
    for learn, judge in seen[0]:
        assert not np.isin(groups[learn], groups[judge]).any()
        assert len(learn) + len(judge) == 400
        assert wrong[judge].any()


def test_many_wrong_rows_of_few_groups_teach_no_choice() -> None:
    groups = np.repeat(np.arange(50), 20)
    wrong = groups < tuning.FEWEST_ERRORS - 1  # 180 rows
    surprises = np.random.default_rng(0).random((1000, 3)) + wrong[:, None] * np.array([0, 2, 2])
    assert [c.kept for c in _choose(surprises, wrong, groups)] == [True, False, False]
    assert _choose(surprises, wrong, None)[0].signal != "s0"


def test_a_signal_whose_gain_may_be_chance_does_not_join() -> None:
    """Noise that lifted the AUROC by 0.0005 joined, and cost bytes, time and threshold rows."""
    joined = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        wrong = rng.random(1000) < 0.15
        surprises = rng.exponential(size=(1000, 4)) + 2 * wrong[:, None] * np.array([1, 0, 0, 0])
        joined.append(sum(c.kept for c in _choose(surprises, wrong, None)) - 1)
    assert np.mean(joined) < 0.5
    told = rng.exponential(size=(1000, 2)) + 2 * wrong[:, None]
    assert all(c.kept for c in _choose(told, wrong, None))
