"""Gates of ``compile`` and ``verify``: what is demanded, of a bundle and against an earlier one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from junitparser import Error, Failure, JUnitXml, Skipped

import edgemon
from edgemon.compiler.data.classes import Classes
from edgemon.compiler.data.loading import load
from edgemon.compiler.documents.manifest import Gated
from edgemon.compiler.errors import CompileError
from edgemon.compiler.gates.baseline import no_worse
from edgemon.compiler.gates.judging import require_comparable
from edgemon.compiler.gates.verdicts import Verdicts
from edgemon.compiler.gates.wanted import FIGURES, Gates
from edgemon.compiler.statistics.metrics import Confusion
from tests import command_line
from tests.command_line import document, refused
from tests.compiler.bundle.test_documents import check
from tests.tiny_onnx import write_linear_onnx


def verdicts(alarm: np.ndarray, wrong: np.ndarray) -> Verdicts:
    return Verdicts(alarm, wrong, alarm.astype(np.float64))


def test_mistakes_in_a_demand_are_one_sentence() -> None:
    for text, said in (
        ("cought>=0.4", "unknown figure 'cought'; did you mean 'caught'?"),
        ("caught<=0.4", "--require caught: the larger the better"),
        ("kb>=16", "write kb<=16"),
        ("caught>=0.4,caught>=0.5", "caught is demanded twice"),
        ("caught", "write caught>=0.4, or several"),
        ("caught>=much", "is not understood"),
    ):
        with pytest.raises(CompileError) as caught:
            Gates.parse(text, None)
        assert said in str(caught.value)
    assert not Gates.parse("", None)
    assert not Gates.parse("kb<=3,us<=9", None).needs_rows
    assert Gates.parse("mcc>=0", None).needs_rows


def test_figures_are_those_of_the_verdicts(bundle: Path, tiny_data: Path) -> None:
    wanted = ",".join(f"{name}{better}{'0' if better == '>=' else '1e9'}"
                      for name, (better, _) in FIGURES.items())  # fmt: skip
    found = document("verify", bundle, "--data", f"{tiny_data}[0:400]", "--require", wanted)
    lines = {line["name"]: line for line in found["requirements"]}
    assert list(lines) == list(FIGURES)
    assert found["mismatches"] == 0
    rows = np.load(tiny_data)
    scores = edgemon.load(bundle).score(rows["x"][:400], rows["y"][:400])
    for name in ("caught", "false_alarms", "precision", "mcc", "accuracy"):
        assert lines[name]["measured"] == pytest.approx(getattr(scores, name))
        low, high = lines[name]["interval"]
        assert low <= lines[name]["measured"] <= high
    manifest = json.loads((bundle / "manifest.json").read_text())
    assert lines["kb"]["measured"] == pytest.approx(manifest["bytes"]["monitors"] / 1024)
    assert lines["us"]["measured"] == manifest["estimated_us"]


def test_a_missed_demand_fails_everywhere(bundle: Path, tiny_data: Path, tmp_path: Path) -> None:
    rows = ("--data", f"{tiny_data}[0:400]")
    common = ("verify", bundle, *rows, "--junit", tmp_path / "found.xml", "--require")
    said = refused(*common, "caught>=0.999,kb<=64", code=3)
    assert "requirement missed: caught is " in said
    assert "95 % interval" in said
    assert "must be >= 0.999" in said
    (suite,) = JUnitXml.fromfile(str(tmp_path / "found.xml"))
    results = {case.name: case.result for case in suite}
    assert list(results) == ["verify", "caught >= 0.999", "kb <= 64"]
    assert isinstance(results["caught >= 0.999"][0], Failure)
    assert (suite.tests, suite.failures) == (3, 1)
    answered = command_line.edgemon(*common, "caught>=0.999,kb<=64", "--json")
    assert answered.exit_code == 3
    failed = json.loads(answered.stdout)
    assert failed["passed"] is False
    assert [line["met"] for line in failed["requirements"]] == [False, True]
    assert command_line.edgemon(*common, "kb<=64").exit_code == 0
    (suite,) = JUnitXml.fromfile(str(tmp_path / "found.xml"))
    assert (suite.tests, suite.failures) == (2, 0)
    (tmp_path / "torn").mkdir()
    command_line.edgemon("verify", tmp_path / "torn", "--junit", tmp_path / "found.xml")
    (suite,) = JUnitXml.fromfile(str(tmp_path / "found.xml"))
    (case,) = suite
    assert isinstance(case.result[0], Error)
    assert "not an edgemon bundle" in case.result[0].message


def test_what_cannot_be_measured_is_not_met(bundle: Path, tiny_data: Path, tmp_path: Path) -> None:
    assert "give labelled rows" in refused("verify", bundle, "--require", "caught>=0.1")
    rows = np.load(tiny_data)
    right = edgemon.load(bundle).evaluate(rows["x"]).prediction == rows["y"]
    np.savez(tmp_path / "right.npz", x=rows["x"][right], y=rows["y"][right])
    common = ("verify", bundle, "--data", tmp_path / "right.npz", "--junit", tmp_path / "r.xml")
    said = refused(*common, "--require", "caught>=0.1,accuracy>=1", code=8)
    assert "caught was not measured: it is undefined on these rows" in said
    (suite,) = JUnitXml.fromfile(str(tmp_path / "r.xml"))
    assert any(isinstance(r, Skipped) for case in suite for r in case.result)


def test_a_bundle_that_misses_does_not_replace_the_old_one(
    bundle: Path, tiny: Callable[..., Path], tiny_data: Path, tmp_path: Path
) -> None:
    out, old = tmp_path / "out", command_line.copy(bundle, tmp_path / "old")
    common = ("compile", tiny(), "--data", tiny_data, "--monitor", "softmax",
              "--drift-run-length", "0", "--workers", "1")  # fmt: skip
    before = {p.name: p.read_bytes() for p in old.iterdir()}
    said = refused(*common, "--out", old, "--force", "--require", "mcc>=0.99", code=3)
    assert f"{old} stays as it was" in said
    assert {p.name: p.read_bytes() for p in old.iterdir()} == before
    kept = document(*common, "--out", out, "--require", "caught>=0.01,kb<=16",
                    "--baseline", old, "--junit", tmp_path / "c.xml")  # fmt: skip
    check(kept, Gated)
    assert [line["met"] for line in kept["requirements"]] == [True] * 4
    assert [line["measured"] for line in kept["requirements"][2:]] == [0.0, 0.0]
    assert kept["requirements"][0]["measured"] == pytest.approx(1 - kept["together"]["miss_rate"])
    (suite,) = JUnitXml.fromfile(str(tmp_path / "c.xml"))
    assert [case.name for case in suite][:3] == ["compile", "caught >= 0.01", "kb <= 16"]


def test_a_baseline_must_be_a_bundle_of_the_same_task(
    bundle: Path, digits_bundle: Path, tiny_data: Path, tmp_path: Path
) -> None:
    common = ("verify", bundle, "--data", tiny_data, "--baseline")
    assert "is no folder" in refused(*common, tmp_path / "none")
    assert "not an edgemon bundle" in refused(*common, tmp_path)
    assert "knows other classes" in refused(*common, digits_bundle)


def test_a_baseline_with_another_input_is_named_before_anything_is_recorded(
    bundle: Path, tiny_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sentence blamed the model that was compiled, after its fit."""
    rows = np.load(tiny_data)
    wide = tmp_path / "wide.npz"
    np.savez(wide, x=np.repeat(rows["x"], 2, 1), y=rows["y"])
    model = write_linear_onnx(
        tmp_path / "wide.onnx", (8,), np.eye(8, 3, dtype=np.float32), np.zeros(3, np.float32)
    )
    for module in ("gates.judging.record_loaded", "pipeline.Recorder"):
        monkeypatch.setattr(f"edgemon.compiler.{module}", lambda *_, **__: pytest.fail("recorded"))
    common = ("compile", model, "--data", wide, "--out", tmp_path / "out", "--monitor", "softmax")
    said = refused(*common, "--baseline", bundle)
    assert f"--baseline {bundle}: takes another input than this model: a row has 8 columns" in said
    for data, classes, sentence in (
        (wide, ("0", "1", "2"), "takes another input than this model"),
        (tiny_data, ("a", "b", "c"), "knows other classes than this model"),
    ):
        rows_of = load(str(data), tmp_path)
        with pytest.raises(CompileError, match=f"^the baseline: {sentence}"):
            require_comparable(
                Gates.parse("", bundle, called="the baseline"), Classes(classes, (0, 1, 2)), rows_of
            )


def test_a_clearly_worse_bundle_is_refused_and_chance_is_not() -> None:
    rng = np.random.default_rng(0)
    wrong = rng.random(2000) < 0.2
    good = np.where(rng.random(2000) < 0.9, wrong, ~wrong)
    blind = rng.random(2000) < 0.2
    accuracy, mcc = no_worse(verdicts(blind, wrong), verdicts(good, wrong), "old")
    assert accuracy.met
    assert accuracy.measured == 0
    assert not mcc.met
    assert "mcc less that of old is -0." in str(mcc)
    (_, better) = no_worse(verdicts(good, wrong), verdicts(blind, wrong), "old")
    assert better.met
    twin = good.copy()
    twin[0] ^= True
    assert all(line.met for line in no_worse(verdicts(twin, wrong), verdicts(good, wrong), "old"))
    silent = verdicts(np.zeros(2000, bool), wrong)
    assert not [*no_worse(silent, verdicts(good, wrong), "old")][1].met  # undefined counts as 0
    worse_model = verdicts(good, wrong | (rng.random(2000) < 0.1))
    assert not next(iter(no_worse(worse_model, verdicts(good, wrong), "old"))).met


@given(st.lists(st.integers(0, 15), min_size=1, max_size=60))
def test_differences_are_those_of_the_two_tables(kinds: list[int]) -> None:
    bits = np.array(kinds)[:, None] >> np.arange(4) & 1 == 1
    new, old = verdicts(bits[:, 0], bits[:, 1]), verdicts(bits[:, 2], bits[:, 3])
    accuracy, mcc = no_worse(new, old, "old")
    assert accuracy.measured == pytest.approx((~new.wrong).mean() - (~old.wrong).mean())
    each = [Confusion.of(v.alarm, v.wrong).mcc or 0.0 for v in (new, old)]
    assert mcc.measured == pytest.approx(each[0] - each[1])
