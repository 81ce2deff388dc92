"""Rows in groups: the promise holds for one row of each group, not for each row."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.errors import BenchError
from edgemon.bench.grouped_guarantee import GROUPS_A_LABEL, LABELS, made_up, study
from edgemon.bench.resplit_law import share_exceeding
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from tests.command_line import document, refused

GROUPS = LABELS * GROUPS_A_LABEL


@pytest.mark.parametrize("seed", [0, 1])
def test_only_one_row_of_each_group_keeps_the_promise(seed: int) -> None:
    lines = list(study(*made_up(seed), (0.05,), 200, 0.95, seed))
    rows, leaked, kept = lines
    assert (rows.counted, rows.divided) == ("each row", "rows")
    assert rows.within  # which is why nobody notices
    assert (leaked.counted, leaked.divided) == ("each row", "groups")
    assert leaked.exceeded > leaked.band[1] + 0.05
    assert not leaked.within
    assert kept.counted == "one row of each group"
    assert kept.band[0] <= kept.exceeded <= kept.band[1]
    assert (kept.calibration_rows, kept.test_rows) == (GROUPS / 2, GROUPS / 2)
    assert leaked.calibration_rows + leaked.test_rows == len(made_up(seed)[0])


def test_independent_rows_in_groups_of_one_make_no_difference() -> None:
    score = np.random.default_rng(0).normal(size=1000)
    lines = list(study(score, np.arange(1000), np.arange(1000) % 7, (0.05,), 100, 0.95, 0))
    assert len({line.exceeded for line in lines}) == 1
    assert all(line.within for line in lines)


def test_rates_that_need_more_groups_are_left_out() -> None:
    score, groups, labels = (v[made_up(0)[1] < 200] for v in made_up(0))
    assert {x.rate for x in study(score, groups, labels, (0.01, 0.05), 10, 0.95, 0)} == {0.05}
    with pytest.raises(BenchError, match="give rows of 118 groups or more"):
        list(study(score, groups // 2, labels, (0.01, 0.05), 10, 0.95, 0))


def test_too_few_groups_are_refused_before_the_work(
    bundle: Path, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All resplits of rows were computed, and then nothing was shown."""
    with np.load(tiny_data) as data:
        np.savez(tmp_path / "d.npz", track=np.arange(len(data["y"])) % 20, **data)
    monkeypatch.setattr("edgemon.bench.guarantee.study", lambda *_: pytest.fail("computed"))
    says = refused("guarantee", bundle, "--data", tmp_path / "d.npz", "--group", "track")
    assert "half of 20 groups with right answers are too few" in says
    assert "give rows of 28 groups or more" in says


def test_the_law_by_hand() -> None:
    """Of 59 rows at 5 % the largest sets the threshold: of one further row, 1 in 60 exceeds it."""
    assert share_exceeding(FalseAlarmPromise(), 59, 1) == pytest.approx(1 / 60)


def test_the_command_takes_groups_or_makes_them_up(
    bundle: Path, tiny_data: Path, tmp_path: Path
) -> None:
    found = document("guarantee", bundle, "--data", tiny_data, "--resplits", "20")["grouped"]
    assert found["by"].startswith("made up: ")
    assert (found["rows"], found["groups"]) == (len(made_up(0)[0]), GROUPS)
    with np.load(tiny_data) as data:
        np.savez(tmp_path / "d.npz", track=np.arange(len(data["y"])) // 3, **data)
    real = document(
        "guarantee", bundle, "--data", tmp_path / "d.npz", "--resplits", "20", "--group", "track"
    )["grouped"]
    assert real["by"] == "track"
    assert 250 <= real["groups"] <= 300 < real["rows"] <= 900
    assert {line["rate"] for line in real["lines"]} == {0.05, 0.2}
