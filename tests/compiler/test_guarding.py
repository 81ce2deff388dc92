"""``compile --guard``: who learns from changed copies, how many there are, and what they leave as
it is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.data.sources import Sources
from edgemon.compiler.lessons import copies_apart
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.joined import joined
from tests.command_line import document, edgemon, refused
from tests.compiler.recordings import recorded_splits
from tests.conftest import DEMO

MODEL, DATA = DEMO / "digits_int8.tflite", DEMO / "digits.npz"
GUARD = "rotation=20,noise=0.3"


def compiled(out: Path, monitors: str, guard: str, data: str = str(DATA)) -> Any:
    options = Options(
        monitors=monitors, guard=guard, full_scale=16, promise=FalseAlarmPromise(rate=0.1)
    )
    return compile_bundle(MODEL, Sources(data=data), out, options)


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """The same compile without and with a guard."""
    folder = tmp_path_factory.mktemp("guard")
    monitors = "softmax,prototypes,second_opinion"
    plain = compiled(folder / "plain", monitors, "")
    return folder, plain, compiled(folder / "guarded", monitors, GUARD)


def test_copies_are_as_many_as_break_and_no_other_rows_are_touched(
    both: tuple[Path, Any, Any],
) -> None:
    _, plain, guarded = both
    assert plain["guard"] is None
    facts = guarded["guard"]
    assert [(c["property"], c["value"]) for c in facts["changes"]] == [
        ("rotation", 20), ("noise", 0.3),
    ]  # fmt: skip
    cells = [k for c in facts["changes"] for k in c["classes"]]
    assert sum(k["copies"] for k in cells) == facts["copies"] > 50
    assert sum(k["errors"] for k in cells) == facts["errors"] > 10
    assert facts["share"] == 1
    for k in cells:
        of_class = plain["rows"]["fit"] * k["tried"] / sum(c["tried"] for c in cells) * 2
        assert k["copies"] == pytest.approx(k["broken"] / k["tried"] * of_class, rel=0.2, abs=2)
    most, least = (f(cells, key=lambda k: k["broken"] / k["tried"]) for f in (max, min))
    assert most["copies"] > 2 * least["copies"]
    for key in ("rows", "accuracy", "accuracy_by_split", "data"):
        assert guarded[key] == plain[key]


def test_thresholds_know_nothing_of_the_copies(both: tuple[Path, Any, Any]) -> None:
    """Of monitors that do not learn from errors nothing changes: neither what a softmax is, nor
    what is usual. One that learns from labels is another."""
    _, plain, guarded = both
    known = [{m["name"]: m["alone"]["thresholds"] for m in d["monitors"]} for d in (plain, guarded)]
    for name in ("softmax", "prototypes"):
        assert known[0][name] == known[1][name]
    assert known[0]["second_opinion"] != known[1]["second_opinion"]


def test_a_guard_catches_more_of_what_it_guards_against(tmp_path: Path) -> None:
    caught = []
    for guard in ("", "rotation=30"):
        out = tmp_path / f"b{len(caught)}"
        compiled(out, "mahalanobis_gap", guard, f"{DATA}[0:900]")
        found = document(
            "robustness", out, "--data", f"{DATA}[900:1395]", "--properties", "rotation=30",
            "--full-scale", "16",
        )  # fmt: skip
        caught.append(found["caught"][0]["caught"])
    assert caught[1] > caught[0] + 0.05


def test_copies_never_outnumber_the_fit_rows(tmp_path: Path) -> None:
    found = compiled(tmp_path / "b", "softmax", "noise=0.8,noise=1,brightness=0")
    facts = found["guard"]
    assert facts["share"] < 1
    assert 0.9 * found["rows"]["fit"] < facts["copies"] <= found["rows"]["fit"] + 100


def test_what_was_guarded_is_said_where_people_look(tmp_path: Path) -> None:
    out = tmp_path / "b"
    result = edgemon(
        "compile", MODEL, "--data", DATA, "--monitor", "msp_t", "--guard", "rotation=20",
        "--full-scale", "16", "--out", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    said = "what is promised is of such rows, not of changed ones"
    assert result.stderr.count(said) == 1
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["options"]["guard"] == "rotation=20"
    assert [f["text"] for f in manifest["findings"] if f["kind"] == "guarded"]
    page = (out / "report.html").read_text()
    assert said in page
    assert "Share that stays right" in page


def test_changes_that_break_nothing_add_nothing(tmp_path: Path) -> None:
    result = edgemon(
        "compile", MODEL, "--data", DATA, "--monitor", "msp_t", "--guard", "brightness=1",
        "--full-scale", "16", "--out", tmp_path / "b",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "none of these changes breaks the model" in result.stderr


def test_the_mistakes_that_people_make(tiny: Any, tiny_data: Path, tmp_path: Path) -> None:
    given = ("compile", MODEL, "--data", DATA, "--out", tmp_path / "b", "--guard")
    assert "--guard: there is no property 'rain'; did you mean" in refused(*given, "rain")
    assert "--guard rotation=90: write a value" in refused(*given, "rotation=90")
    assert "--guard: a name is empty" in refused(*given, "noise,")
    table = ("compile", tiny(), "--data", tiny_data, "--out", tmp_path / "b")
    assert "changes images of bytes" in refused(*table, "--guard", "noise")
    assert "needs images of 3 channels, not 1" in refused(*given, "saturate=2")
    assert not (tmp_path / "b").exists()


def test_monitors_that_a_guard_does_not_reach_are_named(tmp_path: Path) -> None:
    result = edgemon(
        "compile", MODEL, "--data", DATA, "--monitor", "entropy,prototypes,msp_t", "--guard",
        "rotation=20", "--full-scale", "16", "--out", tmp_path / "b", "--false-alarm", "0.1",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "--guard changes nothing of entropy, prototypes: only" in result.stderr


def test_two_recordings_are_one(tmp_path: Path) -> None:
    whole = recorded_splits(tmp_path, "int8", 200).fit
    first, second = whole.take(np.arange(0, 100, 3)), whole.take(np.arange(119, 60, -2))
    (tmp_path / "j").mkdir()
    found = joined(first, second, tmp_path / "j")
    for tap in whole.taps:
        codes = [part.codes(tap.name) for part in (first, second)]
        np.testing.assert_array_equal(found.codes(tap.name), np.concatenate(codes))
    right = np.concatenate([first.correct, second.correct])
    np.testing.assert_array_equal(found.correct, right)
    assert found.as_given is found


def test_no_row_has_copies_on_both_sides_of_a_fusion(tmp_path: Path) -> None:
    """Those that its members learn from, and those that tell it what they are worth."""
    fit = recorded_splits(tmp_path, "int8", 200).fit
    source = np.arange(len(fit)) % 50
    fit = replace(fit.grouped(source), changed=np.arange(len(fit)) >= 50)
    kept, apart = copies_apart(fit, 0)
    assert len(kept) + len(apart) == len(fit)
    assert 0.15 < len(apart) / (len(fit) - 50) < 0.55
    assert apart.changed is not None
    assert apart.changed.all()
    assert len(kept.as_given) == 50
    assert kept.groups is not None
    copies = kept.groups[np.flatnonzero(kept.changed)]
    assert not set(copies) & set(np.asarray(apart.groups))
