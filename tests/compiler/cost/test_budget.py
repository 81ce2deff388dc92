"""Budgets: where they come from, what they refuse, and who keeps to them."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from edgemon import targets
from edgemon.compiler import budget as budgets
from edgemon.compiler import fitting
from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.errors import BudgetError, CompileError
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.monitors import MONITORS, parse
from edgemon.compiler.monitors.fusion import stack
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.targets import Budget
from tests.compiler.recordings import recorded_splits

HOST = targets.load(targets.DEFAULT)
UNTIMED = replace(HOST, name="board", times=None)
SMALL = replace(HOST, budget=Budget(16, 2))


@pytest.mark.parametrize(
    ("asked", "found"),
    [((None, None), (16, 2)), ((8, None), (8, 2)), ((None, 1), (16, 1)), ((64, 9), (64, 9))],
)
def test_the_command_overrides_the_profile(
    asked: tuple[float | None, float | None], found: tuple[float, float]
) -> None:
    assert budgets.resolve(*asked, SMALL) == Budget(*found)
    assert budgets.resolve(None, None, HOST) == Budget()


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((0, None), "--budget-kb 0: must lie between 0.1 and 4096"),
        ((float("nan"), None), "--budget-kb nan: must lie"),
        ((None, 0), "--budget-us 0: must lie above 0"),
        ((None, float("inf")), "--budget-us inf: must lie above 0 and not above 1e"),
    ],
)
def test_budgets_without_sense_are_refused(
    asked: tuple[float | None, float | None], message: str
) -> None:
    with pytest.raises(CompileError, match=message):
        budgets.resolve(*asked, HOST)


def test_a_time_that_cannot_be_estimated_is_no_budget() -> None:
    message = r"target board has no \[nanoseconds\].*measure them on the target with `edgemon op-t"
    with pytest.raises(CompileError, match=f"--budget-us: the profile of {message}"):
        budgets.resolve(None, 5, UNTIMED)
    timed = parse("errors:budget_us=5")
    with pytest.raises(CompileError, match=f"errors: budget_us: the profile of {message}"):
        budgets.require_times(timed, UNTIMED)
    budgets.require_times(timed, HOST)
    budgets.require_times(parse("errors,box"), UNTIMED)


def test_fusions_take_the_budget_unless_they_have_their_own() -> None:
    def of(text: str, budget: Budget) -> list[Budget]:
        return [m.budget for m in parse(text, budget=budget) if isinstance(m, FusionMonitor)]

    assert of("auto", Budget()) == [Budget(32)]
    assert of("auto,msp_t", Budget(8, 3)) == [Budget(8, 3)]
    assert of("errors:budget_kb=4,scod:budget_us=1.5", Budget(8, 3)) == [
        Budget(4, 3), Budget(8, 1.5),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def fitted(tmp_path_factory: pytest.TempPathFactory) -> Fitted:
    folder = tmp_path_factory.mktemp("rows")
    rows = recorded_splits(folder, "int8", 400)
    estimators = [MONITORS["softmax"](taps=("logits",)), MONITORS["box"](taps=("features",))]
    return fitting.fit_monitors(estimators, "output", rows, FalseAlarmPromise(), times=HOST.times)


def test_a_fusion_that_took_all_is_told_what_to_leave(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole budget went to the fusion, and nothing said how a box fits beside it."""
    monkeypatch.setattr(stack, "LEAST_GAIN", -1)  # take whatever fits
    folder = tmp_path_factory.mktemp("rows")
    rows = recorded_splits(folder, "int8", 900)

    def both(text: str, budget: Budget) -> Fitted:
        fusion, box = parse(text, budget=budget)
        assert isinstance(fusion, FusionMonitor)
        fusion.signals = tuple(
            MONITORS[kind](taps=(tap,))
            for kind, tap in (("msp_t", "logits"), ("prototypes", "features"))
        )
        fusion.taps, box.taps = ("logits", "features"), ("features",)
        return fitting.fit_monitors(
            [fusion, box], "output", rows, FalseAlarmPromise(), times=HOST.times
        )

    whole = Bill(both("errors,box", Budget()).program, HOST.times).together()
    assert whole.microseconds is not None
    for budget in (Budget(whole.size_bytes / 1024 - 0.1), Budget(32, whole.microseconds - 0.01)):
        with pytest.raises(BudgetError) as missed:
            budgets.require_kept(both("errors,box", budget), budget, HOST)
        found = re.search(
            r"leave room for the others \((errors:budget_\S+)\), or allow", str(missed.value)
        )
        assert found is not None, str(missed.value)
        budgets.require_kept(both(f"{found[1]},box", budget), budget, HOST)


def test_what_all_monitors_take_together_counts(fitted: Fitted) -> None:
    whole = Bill(fitted.program, HOST.times).together()
    kb, us = whole.size_bytes / 1024, whole.microseconds
    assert us is not None
    for enough in (Budget(), Budget(kb), Budget(kb, us), Budget(None, us)):
        budgets.require_kept(fitted, enough, HOST)
    with pytest.raises(BudgetError, match=r"^budget missed: kilobytes are [\d.]+, over 0.5 \(soft"):
        budgets.require_kept(fitted, Budget(0.5, us), HOST)
    with pytest.raises(
        BudgetError,
        match=r"^budget missed: microseconds on host-x86_64, estimated, are [\d.]+, over 0.01 "
        r"\(softmax .* kB and .* us; box .*--budget-us\)$",
    ):
        budgets.require_kept(fitted, Budget(kb, 0.01), HOST)
    with pytest.raises(BudgetError, match=r"kilobytes are .*; microseconds on"):
        budgets.require_kept(fitted, Budget(0.5, 0.01), HOST)
    budgets.require_kept(fitted, Budget(kb), UNTIMED)
