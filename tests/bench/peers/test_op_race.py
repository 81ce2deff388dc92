"""The race of single ops: every answer is compared, and a wrong one is seen."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from edgemon.bench.errors import BenchError
from edgemon.bench.peers import op_contestants, op_race, race
from edgemon.bench.peers.ops import density, works
from edgemon.compiler.commands.main import main

if shutil.which("gcc") is None and shutil.which("cc") is None:
    pytest.skip("no C compiler", allow_module_level=True)


@pytest.fixture(scope="module")
def found() -> list[dict[str, Any]]:
    return op_race.race(op_race.KINDS, 1)


def test_every_contestant_answers_every_work_as_the_reference(found: list[dict[str, Any]]) -> None:
    assert [w["kind"] for w in found] == [
        "boxes", "boxes", "tables", "linear", "linear", "distances", "kde"
    ]  # fmt: skip
    for work in found:
        assert work["absent"] == []
        names = [c["name"] for c in work["contestants"]]
        assert names[:6] == [
            "edgemon", "plain C -O1", "plain C -O2", "plain C -O3", "NumPy", "ONNX Runtime"
        ]  # fmt: skip
        assert names[6:] == (
            ["SciPy gaussian_kde", "scikit-learn KernelDensity"] if work["kind"] == "kde" else []
        )
        for line in work["contestants"]:
            assert line["right"] == line["rows"] == 16, (work["work"], line["name"])
            assert line["ns"] > 0


def test_edgemon_is_heavier_than_an_empty_program_and_python_slower(
    found: list[dict[str, Any]],
) -> None:
    for work in found:
        ratio = {c["name"]: c["edgemon_to_it"] for c in work["contestants"]}
        assert ratio["edgemon"] == 1
        assert ratio["NumPy"] < 1
        assert work["empty_ns"] > 0


def test_a_wrong_answer_and_an_absent_peer_are_seen() -> None:
    def wrong(work: Any) -> Any:
        entry = op_contestants.in_numpy(work)
        answers = entry.answers.copy()
        answers[5] += 1
        return replace(entry, answers=answers)

    def missing(_: Any) -> Any:
        raise ImportError("No module named 'nowhere'", name="nowhere")

    document = op_race.one(next(works("boxes")), [("wrong", wrong), ("missing", missing)], 1)
    assert [c["right"] for c in document["contestants"]] == [15]
    assert document["contestants"][0]["edgemon_to_it"] is None
    assert document["absent"][0]["why"].startswith("nowhere is not installed")


def test_whole_numbers_are_equal_and_floats_are_close() -> None:
    whole = np.array([[1_000_000, 5]])
    assert op_race.agree(whole, whole).all()
    assert not op_race.agree(whole, whole + np.array([1, 0])).any()
    floats = whole.astype(np.float32)
    assert op_race.agree(floats, floats * (1 + 5e-5)).all()
    assert not op_race.agree(floats, floats * (1 + 5e-4)).any()
    assert not op_race.agree(floats, floats * np.nan).any()


def test_scipy_has_the_same_bandwidth() -> None:
    points = op_contestants.points_of(density()).astype(np.float64)
    spread = np.cov(points.T)
    assert np.allclose(spread, spread[0, 0] * np.eye(len(spread)))


def test_only_takes_names_of_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op_race, "race", lambda kinds, *_: kinds)
    document = race.race(1, only=["linear", "boxes"])
    assert document == {"rounds": 1, "works": [], "ops": ["boxes", "linear"]}
    with pytest.raises(BenchError, match="the works are forests, boxes, tables"):
        race.race(1, only=["boxes", "nonsense"])


def test_only_without_peers_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("sys.argv", ["edgemon", "bench", "--only", "boxes"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert "give --peers too" in capsys.readouterr().err.replace("\n", " ")
