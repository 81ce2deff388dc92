"""The promise over resplits: kept by the order statistic, broken by a plain quantile."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.guarantee import LEVELS, scores_of, study
from edgemon.bench.own_thresholds import _judged
from edgemon.compiler.errors import CompileError
from edgemon.runtime.evaluation import Verdict
from tests.command_line import document


@pytest.mark.parametrize("seed", [0, 1])
def test_the_order_statistic_holds_and_the_quantile_does_not(seed: int) -> None:
    score = np.random.default_rng(seed).normal(size=3000)
    lines = list(study(score, 200, 0.95, seed))
    assert all(line.within for line in lines)
    plain = [line for line in lines if line.score == "as it is"]
    assert not any(line.quantile_within for line in plain)
    for line in plain:  # without ties the prediction is exact: the band is two-sided
        assert line.band[0] <= line.exceeded <= line.band[1]
        assert 0.05 < line.predicted < 0.15
        assert line.mean_rate < line.rate


def test_ties_cost_power_and_ranking_them_gives_it_back() -> None:
    lines = {
        (x.score, x.rate): x for x in study(np.random.default_rng(3).random(3000), 50, 0.95, 0)
    }
    assert lines["two values", 0.05].mean_rate == 0  # a tenth of the rows tie at the top
    assert lines["two values, ties ranked", 0.05].mean_rate > 0.03


def test_coarse_scores_are_coarse() -> None:
    made = scores_of(np.random.default_rng(0).random(5000))
    assert [len(np.unique(s)) for s in made.values()][:3] == [5000, LEVELS, 2]
    assert all((np.diff(s[np.argsort(made["as it is"])]) >= 0).all() for s in made.values())


def test_too_few_rows_are_refused_with_the_number() -> None:
    with pytest.raises(CompileError, match="needs 299 correct threshold rows, but there are 58"):
        list(study(np.arange(116.0), 10, 0.95, 0))


def test_the_command(bundle: Path, tiny_data: Path) -> None:
    found = document("guarantee", bundle, "--data", tiny_data, "--resplits", "20")
    assert found["monitor"] == "softmax"
    assert {line["rate"] for line in found["lines"]} == {0.01, 0.05, 0.2}
    verdict, softmax = found["own"]["lines"]
    assert (verdict["of"], softmax["of"]) == ("the verdict", "softmax")
    assert verdict["promised"]
    assert verdict["rows"] == found["rows"]
    assert verdict["rate"] == softmax["rate"]
    assert found["own"]["same_rows_as_compiled"]


@pytest.mark.parametrize(
    ("alarms", "misses", "held"),
    [(0, False, True), (60, False, True), (90, False, False), (940, True, True), (90, True, False)],
)
def test_a_bundles_own_threshold_is_judged(alarms: int, misses: bool, held: bool) -> None:
    """A threshold that alarmed on 24 % of new rows was said to hold: only the way was judged."""
    verdicts = np.repeat([int(Verdict.ALARM), int(Verdict.TRUST)], [alarms, 1000 - alarms])
    found = _judged("m", True, verdicts, misses, 0.05)
    assert found.held is held
    assert found.rate == (1000 - alarms if misses else alarms) / 1000
