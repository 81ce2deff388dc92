"""Two oracles, and the system of model and monitor, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, matthews_corrcoef

from edgemon.bench.farm.compiled import CERTIFIED, NATIVE, Judgement
from edgemon.bench.farm.measures import OVERALL, SPECIFIC, Rows, judge, weighted_f1
from edgemon.bench.farm.system import alone, system, together
from edgemon.compiler.statistics.metrics import Confusion
from edgemon.runtime.evaluation import Verdict

# Clean: right, wrong, right, wrong; faulty: right, right, wrong, and one of no class.
ROWS = Rows(
    np.array([0, 1, 2, 0, 1, 1, 2, -1]), np.array([0, 0, 2, 1, 1, 1, 0, 2]), np.arange(8) >= 4
)
ALARM = np.array([0, 1, 1, 0, 1, 0, 0, 1], bool)
T, A = Verdict.TRUST, Verdict.ALARM


def judgement(alarm: np.ndarray = ALARM, native: np.ndarray | None = None) -> Judgement:
    verdicts = {CERTIFIED: np.where(alarm, A, T).astype(np.uint8)}
    if native is not None:
        verdicts[NATIVE] = np.where(native, A, T).astype(np.uint8)
    return Judgement(verdicts, np.array([1.0, 5, 4, 2, 6, 3, 0, 7]))


def test_the_table_of_oracles() -> None:
    """Specific asks for the fault, overall for wrong answers; a novel row is wrong."""
    specific = judge(ROWS, judgement(), SPECIFIC, 0.5, 0)
    assert [specific[k] for k in ("tp", "fp", "tn", "fn")] == [2, 2, 2, 2]
    overall = judge(ROWS, judgement(), OVERALL, 0.5, 0)
    assert [overall[k] for k in ("tp", "fp", "tn", "fn")] == [2, 2, 2, 2]
    assert (specific["positive"], overall["positive"]) == (4, 4)
    other = ALARM.copy()
    other[4:6] = [False, True]  # a faulty row on which the model is right, without an alarm: TN
    assert judge(ROWS, judgement(other), OVERALL, 0.5, 0)["tn"] == 2
    assert judge(ROWS, judgement(other), SPECIFIC, 0.5, 0)["fn"] == 2
    assert specific["native"] is None
    native = judge(ROWS, judgement(native=~ALARM), SPECIFIC, 0.5, 0)["native"]
    assert native["tp"] == 2
    assert specific["auroc"] == pytest.approx(10 / 16)  # of the pairs of scores


def test_undefined_is_none() -> None:
    never = judge(ROWS, judgement(np.zeros(8, bool)), SPECIFIC, 0.5, 0)
    assert (never["mcc"], never["precision"], never["mcc_interval"]) == (None, None, None)
    assert never["fpr"] == 0


@given(st.integers(0, 2**16 - 1), st.integers(1, 2**16 - 2))
@settings(max_examples=60, deadline=None)
def test_weights_and_weighted_f1_are_scikit_learns(alarms: int, faults: int) -> None:
    alarm = np.array([alarms >> i & 1 for i in range(16)], bool)
    faulty = np.array([faults >> i & 1 for i in range(16)], bool)
    rows = Rows(np.zeros(16, int), np.zeros(16, int), faulty)
    table = Confusion.of(alarm, faulty)
    wanted = f1_score(faulty, alarm, average="weighted", zero_division=0)
    assert weighted_f1(table) == pytest.approx(wanted)
    found = judge(rows, Judgement({CERTIFIED: np.where(alarm, A, T)}, None), SPECIFIC, 0.1, 0)
    weight = np.where(faulty, 0.1 / faulty.mean(), 0.9 / (1 - faulty.mean()))
    expected = matthews_corrcoef(faulty, alarm, sample_weight=weight)
    assert (found["mcc_at_prevalence"] or 0.0) == pytest.approx(expected, abs=1e-12)


def test_the_system_by_hand() -> None:
    found = together(ROWS, ALARM)  # passes: 0 right, 3 wrong, 5 right, 6 wrong
    assert found["coverage"] == 0.5
    assert found["accuracy_passed"] == 0.5
    assert found["unsafe"] == 2 / 8
    assert found["utility"] == {"1": 0, "5": (2 - 10) / 8, "20": (2 - 40) / 8}
    assert found["pays_above"] == 1  # two right answers lost, two wrong ones caught
    answers = np.where(ALARM, -1, ROWS.predicted)
    assert found["mcc"] == pytest.approx(matthews_corrcoef(ROWS.labels, answers))
    model = alone(ROWS)
    assert (model["coverage"], model["pays_above"]) == (1, None)
    assert model["utility"]["5"] == (4 - 20) / 8
    assert set(system(ROWS, judgement(native=ALARM))) == {CERTIFIED, NATIVE}


@given(st.integers(0, 255), st.sampled_from([0.5, 1.0, 3.0, 8.0, 21.0]))
@settings(max_examples=60, deadline=None)
def test_a_monitor_pays_from_its_cost_on(alarms: int, cost: float) -> None:
    alarm = np.array([alarms >> i & 1 for i in range(8)], bool)
    found, wrong = together(ROWS, alarm), ROWS.wrong

    def utility(passed: np.ndarray) -> float:
        return float((passed & ~wrong).sum() - cost * (passed & wrong).sum())

    pays = utility(~alarm) > utility(np.ones(8, bool))
    above = found["pays_above"]
    assert pays == (above is not None and cost > above)
