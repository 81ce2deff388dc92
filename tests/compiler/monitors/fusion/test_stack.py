"""Which signals a stack takes: those that help and fit, by folds on which they are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon.compiler.errors import BudgetError
from edgemon.compiler.monitors.fusion import stack
from edgemon.compiler.monitors.fusion.stack import Choice, stack_weights
from edgemon.compiler.statistics import tuning
from edgemon.targets import Budget
from tests.compiler.monitors.fusion.evidence import Prices, evidence


def choose(names: Sequence[str], x: np.ndarray, wrong: np.ndarray, prices: Prices,
           budget: Budget, groups: Any = None) -> list[Choice]:  # fmt: skip
    alone = [prices.together([i]) for i in range(len(names))]
    return stack.choose(names, x, wrong, prices.together, alone, budget, 0, groups)


def test_weights_are_never_negative_and_favour_the_better_signal() -> None:
    x, wrong = evidence(np.random.default_rng(0))
    weights = stack_weights(x, wrong)
    assert (weights >= 0).all()
    assert weights[0] > weights[1] > weights[2]
    assert weights[3] == 0  # a signal that points the wrong way


def test_selection_takes_what_helps_and_stops() -> None:
    x, wrong = evidence(np.random.default_rng(1))
    names = ["good", "weak", "noise", "backwards"]
    chosen = choose(names, x, wrong, Prices([100] * 4), Budget(1))
    kept = [c.signal for c in chosen if c.kept]
    assert kept == ["good", "weak"]
    assert [c.stack_auroc for c in chosen if c.kept] == sorted(
        c.stack_auroc for c in chosen if c.kept
    )
    assert [c.so_far.size_bytes for c in chosen if c.kept and c.so_far] == [100, 200]
    alone = next(c for c in chosen if c.signal == "noise")
    assert (alone.so_far, alone.kept) == (None, False)
    assert alone.auroc_interval[0] < alone.auroc < alone.auroc_interval[1]


def test_selection_respects_the_bytes() -> None:
    x, wrong = evidence(np.random.default_rng(1))
    names = ["good", "weak", "noise", "x"]
    chosen = choose(names, x, wrong, Prices([5000, 10, 10, 10]), Budget(0.1))
    assert next(c.signal for c in chosen if c.kept) == "weak"
    assert not next(c for c in chosen if c.signal == "good").kept


def test_selection_respects_the_time() -> None:
    x, wrong = evidence(np.random.default_rng(1))
    names = ["good", "weak", "noise", "x"]
    prices = Prices([10] * 4, [900, 400, 100, 100])
    both = choose(names, x, wrong, prices, Budget(1, 1.3))
    assert [c.signal for c in both if c.kept] == ["good", "weak"]
    assert [c.so_far.microseconds for c in both if c.so_far] == [0.9, 1.3]
    few = choose(names, x, wrong, prices, Budget(1, 1.2))
    assert "weak" not in [c.signal for c in few if c.kept]
    assert next(c.signal for c in choose(names, x, wrong, prices, Budget(1, 0.8))) == "weak"


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 4000), st.integers(1, 4000)), min_size=4, max_size=4),
    st.floats(0.5, 8), st.floats(0.5, 8),
)  # fmt: skip
def test_whatever_is_chosen_fits(costs: list[tuple[int, int]], kb: float, us: float) -> None:
    x, wrong = evidence(np.random.default_rng(3), 400)
    sizes, ns = zip(*costs, strict=True)
    prices, budget = Prices(sizes, ns), Budget(kb, us)
    try:
        chosen = choose(list("abcd"), x, wrong, prices, budget)
    except BudgetError:
        assert not any(prices.together([i]).fits(budget) for i in range(4))
        return
    kept = [c.index for c in chosen if c.kept]
    assert kept
    assert prices.together(kept).fits(budget)


def test_when_nothing_fits_one_sentence_says_so() -> None:
    x, wrong = evidence(np.random.default_rng(1))
    prices = Prices([2000] * 4, [900.0] * 4)
    with pytest.raises(BudgetError, match=r"no signal fits in 1 kB; give more \(--budget-kb\), or"):
        choose(list("abcd"), x, wrong, prices, Budget(1))
    # The size that a fusion has without a budget was called too small as well.
    with pytest.raises(BudgetError, match=r"no signal fits in 0.5 us; give more \(--budget-us\), "):
        choose(list("abcd"), x, wrong, prices, Budget(4, 0.5))
    both = r"no signal fits in 1 kB and 0.5 us; give more \(--budget-kb, --budget-us\), or"
    with pytest.raises(BudgetError, match=both):
        choose(list("abcd"), x, wrong, prices, Budget(1, 0.5))
    either = Prices([9000, 10, 9000, 9000], [10.0, 900.0, 900.0, 900.0])
    with pytest.raises(BudgetError, match=both):
        choose(list("abcd"), x, wrong, either, Budget(1, 0.5))
    assert BudgetError.exit_code == 3


def test_intervals_are_computed_only_where_they_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resampling for them made ``compare``, which shows none, slow."""

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("nobody looked at an interval")

    x, wrong = evidence(np.random.default_rng(1))
    monkeypatch.setattr(stack, "auroc_interval", refuse)
    chosen = choose(list("abcd"), x, wrong, Prices([1] * 4), Budget(1))
    monkeypatch.undo()
    assert all(c.to_json()["auroc_interval"] is not None for c in chosen)


def test_a_signal_that_no_longer_fits_says_so() -> None:
    """It was "not kept", as one that was measured and found useless."""
    x, wrong = evidence(np.random.default_rng(1))
    x[:, 1] = x[:, 0] + np.random.default_rng(2).exponential(1, len(x))
    found = {
        c.signal: c for c in choose(list("abcd"), x, wrong, Prices([10, 9000, 1, 1]), Budget(1))
    }
    assert found["a"].kept
    assert not found["b"].kept
    assert found["b"].left_out.endswith("more than the budget of 1 kB; give more (--budget-kb)")
    assert found["a"].left_out == found["c"].left_out == ""


def test_with_hardly_an_error_the_first_signal_stands_alone() -> None:
    x, _ = evidence(np.random.default_rng(2))
    wrong = np.arange(len(x)) < tuning.FEWEST_ERRORS - 1
    chosen = choose(list("abcd"), x, wrong, Prices([1] * 4), Budget(1))
    assert [c.kept for c in chosen] == [True, False, False, False]
    assert chosen[0].auroc is chosen[0].auroc_interval is None
    first_is_large = choose(list("abcd"), x, wrong, Prices([9999, 1, 1, 1]), Budget(1))
    assert [c.signal for c in first_is_large if c.kept] == ["b"]


def _choose(surprises: np.ndarray, wrong: np.ndarray, groups: Any) -> list[stack.Choice]:
    names = [f"s{i}" for i in range(surprises.shape[1])]
    return choose(names, surprises, wrong, Prices([0] * len(names)), Budget(), groups)


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
