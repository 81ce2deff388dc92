"""What monitors cost together: exact, and never more than one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon import targets
from edgemon.compiler.cost import timing
from edgemon.compiler.cost.bill import Bill, Cost
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Program
from edgemon.compiler.program.quantise import quantise
from edgemon.targets import Budget
from tests.compiler.programs import real_program, rows_of, taps_of

TIMES = targets.load(targets.DEFAULT).times


@pytest.fixture(scope="module", params=["int8", "float32"])
def program(request: pytest.FixtureRequest) -> Program:
    rng = np.random.default_rng(5)
    taps = taps_of(request.param, rng)
    return quantise(real_program(taps, rows_of(taps, rng), rng))


@settings(max_examples=30)
@given(chosen=st.sets(st.integers(0, 15), min_size=1))
def test_together_is_a_program_of_their_own(program: Program, chosen: set[int]) -> None:
    bill = Bill(program, TIMES)
    own = program.with_monitors([program.monitors[i] for i in sorted(chosen)]).trimmed()
    found = bill.together(chosen)
    nodes = sum(map(flat.node_bytes, own.nodes))
    assert found.size_bytes == nodes + flat.MONITOR_RECORD.size * len(chosen)
    assert TIMES is not None
    assert found.nanoseconds == pytest.approx(timing.nanoseconds(own, TIMES))
    assert bill.together([*chosen, min(chosen)]) == found


@settings(max_examples=30)
@given(chosen=st.sets(st.integers(0, 15), min_size=1), more=st.integers(0, 15))
def test_one_more_never_costs_less(program: Program, chosen: set[int], more: int) -> None:
    bill = Bill(program, TIMES)
    before, after, alone = (bill.together(s) for s in (chosen, {*chosen, more}, {more}))
    assert before.size_bytes <= after.size_bytes <= (before + alone).size_bytes
    assert before.nanoseconds is not None
    assert after.nanoseconds is not None
    assert alone.nanoseconds is not None
    assert before.nanoseconds <= after.nanoseconds + 1e-6
    assert after.nanoseconds <= before.nanoseconds + alone.nanoseconds + 1e-6


def test_what_is_added_to_another_program(program: Program) -> None:
    bill = Bill(program, TIMES)
    whole, added = bill.together(), bill.without_evaluation()
    assert TIMES is not None
    taps = sum(TIMES.of(timing.of_tap(t)) for t in program.taps)
    assert added.nanoseconds is not None
    assert whole.nanoseconds == pytest.approx(
        added.nanoseconds + taps + TIMES.of({"evaluation": 1})
    )
    assert whole.size_bytes == added.size_bytes


def test_without_times_only_bytes_are_known(program: Program) -> None:
    found = Bill(program, None).together([0])
    assert found.nanoseconds is found.microseconds is None
    assert (found + Cost(1, 2.0)).nanoseconds is None
    assert found.fits(Budget(kilobytes=100))
    assert not found.fits(Budget(microseconds=1e9))


@pytest.mark.parametrize(
    ("cost", "fits"),
    [(Cost(2048, 3000), True), (Cost(2049, 3000), False), (Cost(2048, 3001), False)],
)
def test_a_budget_is_met_by_what_equals_it(cost: Cost, fits: bool) -> None:
    assert cost.fits(Budget(2, 3)) is fits
    assert cost.fits(Budget())
