"""``edgemon farm`` at the size of a demonstration, and what it leaves."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.bench.farm.compiled import Compiled
from edgemon.bench.farm.publish import publish
from edgemon.bench.farm.run import complete
from edgemon.bench.farm.show import markdown
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.runtime.evaluation import Verdict
from tests.command_line import document, edgemon, refused
from tests.compiler.monitors.test_brought_monitors import install
from tests.compiler.recordings import make_recording
from tests.conftest import DEMO, ROOT

SPEC = ROOT / "bench" / "farm" / "demo.toml"
SMALL = """
rows = 40
[faults]
fog = [3]
saturate = [5]
fgsm = [1]
[[case]]
name = "digits"
model = "digits_int8.tflite"
fit = "digits.npz[0:500]"
calibrate = "digits.npz[500:890]"
test = "digits.npz[890:1395]"
full_scale = 16
monitors = ["msp_t", "softmax"]
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("farm")
    result = edgemon(
        "farm", SPEC, "--root", DEMO, "--out", folder / "out", "--verdicts", "--publish",
        folder / "board",
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    assert "critical difference" in result.stdout
    assert "Left out: frost" in result.stdout
    return folder / "out"


@pytest.fixture(scope="module")
def found(out: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((out / "farm.json").read_text())
    return content


def test_the_document_has_what_it_should(found: dict[str, Any]) -> None:
    assert len(found["sets"]) == 10
    assert {s["kind"] for s in found["sets"]} == {
        "novelty", "noise", "blur", "digital", "anomaly"
    }  # fmt: skip
    assert len(found["results"]) == 10 * 3 * 2
    assert {r["monitor"] for r in found["ranks"]} == {"msp_t", "box", "scod"}
    assert [r["rank"] for r in found["ranks"]] == sorted(r["rank"] for r in found["ranks"])
    assert found["critical_difference"] == pytest.approx(1.048, abs=1e-3)  # k = 3, N = 10
    for r in found["results"]:
        assert r["tp"] + r["fp"] + r["tn"] + r["fn"] == 2 * 250
        assert (r["native"] is not None) == (r["monitor"] == "box")
        low, high = r["auroc_interval"]
        assert low - 1e-12 <= r["auroc"] <= high + 1e-12  # one sums areas, the other pairs
    assert len({s["sha256"] for s in found["sets"]}) == 10
    of_clean = {r["fp"] for r in found["results"]
                if (r["monitor"], r["oracle"]) == ("msp_t", "specific")}  # fmt: skip
    assert len(of_clean) == 1  # the same clean rows serve all sets


def test_scod_catches_the_black_frame(found: dict[str, Any]) -> None:
    assert any("scod catches the black frame (recall 100.0%)" in s for s in found["sentences"])


def test_verdict_files_say_the_same(out: Path, found: dict[str, Any]) -> None:
    path = out / "verdicts" / "digits" / "contrast-5" / "box.native.csv"
    (file,) = document("evaluate", path)["monitors"]
    (line,) = [r for r in found["results"]
               if (r["monitor"], r["fault"], r["severity"], r["oracle"])
               == ("box", "contrast", 5, "overall")]  # fmt: skip
    assert file["confusion"] == {k: line["native"][k] for k in ("tp", "fp", "tn", "fn")}


def test_pages_run_nothing_and_hold_the_plots(out: Path) -> None:
    page = (out / "index.html").read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org", "")
    assert page.count("<svg") == 6
    ranks = {r["monitor"]: r["rank"] for r in json.loads((out / "farm.json").read_text())["ranks"]}
    drawn, first = (out / "cd.svg").read_text(), min(ranks, key=lambda name: ranks[name])
    assert any(
        t in drawn for t in (f"({ranks[first]:.2f}) {first}", f"{first} ({ranks[first]:.2f})")
    )
    text = (out / "farm.md").read_text()
    assert "| rotated | OOB |" in text.replace("CIFAR-10 | ", "")
    assert "weighted F1" in text


def test_a_new_monitor_joins_the_leaderboard(
    out: Path, found: dict[str, Any], tmp_path: Path
) -> None:
    board = out.parent / "board"
    (first,) = json.loads((board / "leaderboard.json").read_text()).values()
    assert set(first["monitors"]) == {"msp_t", "box", "scod"}
    some, rest = json.loads(json.dumps(found)), json.loads(json.dumps(found))
    some["results"] = [r for r in found["results"] if r["monitor"] == "box"]
    rest["results"] = [r for r in found["results"] if r["monitor"] != "box"]
    publish(tmp_path / "new", some, "page")
    assert "box" in (tmp_path / "new" / "index.html").read_text()
    publish(tmp_path / "new", rest, "other page")
    (both,) = json.loads((tmp_path / "new" / "leaderboard.json").read_text()).values()
    assert set(both["monitors"]) == {"msp_t", "box", "scod"}
    assert both["monitors"]["box"] != first["monitors"]["box"]  # it names its own page
    assert (tmp_path / "new" / both["monitors"]["box"]["page"]).read_text() == "page"
    other = json.loads(json.dumps(found))
    other["sets"][0]["sha256"] = "0" * 64  # other images: another table
    publish(tmp_path / "new", other, "page")
    assert len(json.loads((tmp_path / "new" / "leaderboard.json").read_text())) == 2


def test_two_runs_give_the_same_bytes_and_say_what_is_not_available(tmp_path: Path) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL)
    texts = []
    for name in ("a", "b"):
        result = edgemon("farm", spec, "--root", DEMO, "--out", tmp_path / name, "--json")
        assert result.exit_code == 0, result.stderr
        texts.append((result.stdout, (tmp_path / name / "farm.json").read_bytes()))
    assert texts[0] == texts[1]
    found = json.loads(texts[0][0])
    reasons = {n["fault"]: n["reason"] for n in found["not_available"]}
    assert "needs images of 3 channels, not 1" in reasons["saturate"]
    assert "names no model with a gradient" in reasons["fgsm"]
    assert [s["fault"] for s in found["sets"]] == ["fog"]
    assert sum("Not available" in s for s in found["sentences"]) == 2


def test_a_bundle_is_judged_by_its_own_artifact(tmp_path: Path) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL)
    bundle = tmp_path / "bundle"
    compiled = document(
        "compile", DEMO / "digits_int8.tflite", "--data", DEMO / "digits.npz", "--monitor",
        "msp_t,second_opinion", "--out", bundle,
    )  # fmt: skip
    result = edgemon(
        "farm", spec, "--root", DEMO, "--out", tmp_path / "out", "--bundle", bundle, "--json"
    )
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert [m["monitor"] for m in found["monitors"]] == ["verdict", "msp_t", "second_opinion"]
    assert "test rows are left out, from which the bundle learned" in result.stderr
    whole, *alone = [r for r in found["results"] if r["oracle"] == "specific"]
    assert whole["auroc"] is None
    assert all(whole["fp"] >= a["fp"] for a in alone)
    assert compiled["monitors"][0]["name"] == "msp_t"
    page = (tmp_path / "out" / "farm.md").read_text()
    assert "In the place of certified thresholds are those of the bundle" in page
    assert "Certified: at most" not in page


def test_a_monitor_of_another_package_is_in_the_same_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    monkeypatch.syspath_prepend(site)
    monkeypatch.delitem(sys.modules, "stranger", raising=False)
    install(site)
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL.replace('"softmax"', '"margin:power=2"'))
    found = document("farm", spec, "--root", DEMO, "--out", tmp_path / "out")
    assert {r["monitor"] for r in found["ranks"]} == {"msp_t", "margin:power=2"}
    assert "| margin:power=2 |" in (tmp_path / "out" / "farm.md").read_text()


def test_rows_of_the_benchmark_are_used_nowhere_else(tmp_path: Path) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL.replace("[890:1395]", "[790:990]").replace("rows = 40", "rows = 50"))
    result = edgemon("farm", spec, "--root", DEMO, "--out", tmp_path / "out", "--cases", "digits")
    assert result.exit_code == 0, result.stderr
    assert "100 of 200 rows are in an" in result.stderr
    assert "(test)" in result.stderr


def test_rows_that_have_a_fault_as_they_are(tmp_path: Path) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL + 'faulty = ["digits.npz[0:30]"]\nnovel = ["novelty.npz"]\n')
    found = document("farm", spec, "--root", DEMO, "--out", tmp_path / "out")
    novel, real, fog = found["sets"]
    assert (real["fault"], real["kind"], real["severity"]) == ("digits[0:30]", "anomaly", 0)
    assert (real["rows"], real["clean_rows"]) == (30, 40)
    assert real["accuracy"] > 0.8  # they have labels
    assert (novel["kind"], novel["accuracy"], fog["fault"]) == ("novelty", None, "fog")
    assert novel["wrong"] >= 40  # a novel row always is


def test_nothing_available_is_said_and_no_traceback(tmp_path: Path) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL.replace("fog = [3]", ""))
    found = document("farm", spec, "--root", DEMO, "--out", tmp_path / "out")
    assert (found["sets"], found["results"], found["ranks"]) == ([], [], [])
    assert len(found["not_available"]) == 2
    assert "Nothing is ranked" in (tmp_path / "out" / "index.html").read_text()


def test_one_monitor_is_not_ranked(found: dict[str, Any]) -> None:
    alone = {**found, "results": [r for r in found["results"] if r["monitor"] == "box"]}
    complete(alone, 0)
    assert (alone["ranks"], alone["critical_difference"]) == ([], None)
    assert any("Nothing is ranked" in s for s in alone["sentences"])
    assert "mean MCC by kind" in markdown(alone, [])


def test_what_is_left_out_is_said(found: dict[str, Any]) -> None:
    """A monitor that one of two models does not suit is judged on the other, and not ranked."""
    second = [{**r, "case": "narrow"} for r in found["results"] if r["monitor"] != "box"]
    other = {**found, "results": found["results"] + second}
    other["skipped"] = [{"name": "x", "reason": "why"}]
    complete(other, 0)
    assert "Not ranked, since some case leaves them out: box." in other["sentences"]
    assert "x is skipped: why." in other["sentences"]
    assert {r["monitor"] for r in other["ranks"]} == {"msp_t", "scod"}


def test_mistakes_are_one_sentence(tmp_path: Path) -> None:
    spec = tmp_path / "small.toml"
    spec.write_text(SMALL)
    given = ("farm", spec, "--root", DEMO, "--out", tmp_path / "out")
    assert "unknown case 'x'" in refused(*given, "--cases", "x")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter.txt").write_text("mine")
    assert "holds other files" in refused(*given, "--publish", tmp_path / "full")
    assert "cannot be made" in refused("farm", spec, "--out", tmp_path / "small.toml")
    spec.write_text(SMALL.replace("[890:1395]", "[890:920]"))
    assert "30 test rows make sets of 15" in refused(*given)


@pytest.mark.parametrize("kind", ["box", "msp_t"])
def test_what_is_judged_is_what_compile_ships(kind: str, tmp_path: Path) -> None:
    """Certified by the C runtime as by the reference, and native where the method brings it."""
    parts = [make_recording(tmp_path / name, "int8", 400, i) for i, name in enumerate("abc")]
    estimator = MONITORS[kind](taps=("features",) if kind == "box" else ("logits",))
    compiled = Compiled.of(
        estimator, "output", "logits", Splits(*parts), FalseAlarmPromise(), seed=0
    )
    found = compiled.judge(parts[2])
    wanted = evaluate(compiled.program, parts[2])
    np.testing.assert_array_equal(found.verdicts["certified"], wanted.verdicts[:, 0])
    assert ("native" in found.verdicts) == (kind == "box")
    assert found.score is not None
    faults = wanted.verdicts[:, 0] == Verdict.FAULT
    np.testing.assert_array_equal(np.isinf(found.score), faults)
