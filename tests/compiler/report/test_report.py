"""The compile report: its numbers, its page, and the shapes of input that must not break it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.cost import bill as costs
from edgemon.compiler.emit import flat
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, calibrate
from edgemon.compiler.recording import evaluation
from edgemon.compiler.report import collect, render
from edgemon.compiler.report.distribution import BINS, histogram
from edgemon.compiler.report.facts import Fact, Table, facts
from edgemon.compiler.report.findings import findings
from edgemon.compiler.statistics.metrics import measure
from edgemon.runtime.evaluation import Verdict
from tests.compiler.recordings import CLASSES
from tests.compiler.report.cases import EVIL, TIMES, Case, entries, images, make_case, make_splits
from tests.compiler.report.page_reader import Reader

PICTURE = "data:image/png;base64,"


@pytest.fixture(scope="module", params=["int8", "float32"])
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    rows = make_splits(tmp_path_factory.mktemp("rows"), request.param)
    return make_case(rows, "softmax,entropy,box,prophecy", (EVIL, "b", "c", "d"))


def test_numbers_are_those_of_metrics_on_the_reference(case: Case) -> None:
    found = evaluation.evaluate(case.fitted.program, case.rows.test)
    wrong = ~case.rows.test.correct
    for i, monitor in enumerate(case.document["monitors"]):
        expected = asdict(measure(found.verdicts[:, i] != Verdict.TRUST, wrong, found.scores[i]))
        assert {k: monitor["metrics"][k] for k in expected} == expected
        assert monitor["metrics"]["missed"] == pytest.approx(1 - expected["tpr"])
        assert monitor["verdicts"]["wrong"]["alarm"] == int(
            (found.verdicts[wrong, i] == Verdict.ALARM).sum()
        )
        assert monitor["trusted"]["coverage"] == float((found.verdicts[:, i] == 0).mean())
    together = case.document["together"]["metrics"]
    expected = asdict(measure(found.verdict != Verdict.TRUST, wrong, found.verdict))
    assert {k: together[k] for k in expected} == expected


def test_every_test_row_is_in_its_histogram_and_class(case: Case) -> None:
    wrong = int((~case.rows.test.correct).sum())
    for monitor in case.document["monitors"]:
        bins = monitor["histogram"]
        assert len(bins["edges"]) == BINS + 1
        assert sum(bins["wrong"]) + bins["infinite_wrong"] == wrong
        assert sum(bins["right"]) + bins["infinite_right"] == 500 - wrong
    classes = case.document["by_class"]
    assert sum(c["answers"] for c in classes) == 500
    assert sum(c["wrong"] for c in classes) == wrong
    missed = case.document["together"]["verdicts"]["wrong"]["trust"]
    assert sum(c["alarms_on_wrong"] for c in classes) == wrong - missed


def test_the_promise_is_the_calibration(case: Case) -> None:
    promise = case.document["promise"]
    assert promise["monitors"] == ["softmax", "entropy"]
    right = case.rows.threshold.take(np.flatnonzero(case.rows.threshold.correct))
    scores = evaluation.evaluate(case.fitted.program, right).scores
    assert (promise["of"], promise["rows"]) == ("false alarms", len(scores[0]))
    assert promise["whose"] == "verdict"
    together = FalseAlarmPromise().thresholds(scores[:2])
    for i, monitor in enumerate(case.document["monitors"][:2]):
        assert monitor["threshold_raw"] == together[i]
        own = case.fitted.judges[i].monitor.shown(calibrate(scores[i], FalseAlarmPromise()))
        assert monitor["alone"]["thresholds"] == (own,)
        assert own <= monitor["threshold"]
    shown = Reader(case.page).shown
    assert "the verdict of softmax and entropy together raises an alarm on at most 5%" in shown
    assert "the rates of box and prophecy" in Reader(case.page).shown


def test_the_page_is_well_formed_and_self_contained(case: Case) -> None:
    read = Reader(case.page)
    assert not read.open
    assert len(set(read.ids)) == len(read.ids)
    assert {"svg", "table", "figure"} <= read.tags
    assert not read.tags & {"script", "link", "img", "iframe", "object"}
    assert {link[1:] for link in read.links if not link.startswith(PICTURE)} <= set(read.ids)
    assert all(link.startswith(("#", PICTURE)) for link in read.links)
    assert "http" not in case.page
    for target in re.findall(r"url\(([^)]*)\)", case.page):
        assert target[1:] in read.ids
    colours = set(re.findall(r"#[0-9a-f]{6}", case.page.partition("</style>")[2]))
    assert not colours, "a plot has a colour that does not follow the page's theme"


def test_the_page_shows_the_numbers_and_escapes_names(case: Case) -> None:
    shown = Reader(case.page).shown
    assert shown.count(EVIL) >= 4  # title, heading, class, data
    for monitor in case.document["monitors"]:
        assert f"{monitor['metrics']['mcc']:.3f}" in shown
        assert f"{monitor['bytes'] / 1024:.1f} {monitor['estimated_us']:.2f}" in shown
    rules = next(m for m in case.document["monitors"] if m["name"] == "prophecy")["details"]
    assert f"({len(rules['rules'])})" in shown
    assert all(condition in shown for condition in rules["rules"][-1]["if"])


def test_the_same_input_gives_the_same_bytes_and_valid_json(case: Case) -> None:
    again = json.loads(json.dumps(case.document, allow_nan=False))
    assert again["version"] == 1
    assert render(again) == case.page


def test_steps_bound_what_is_read(case: Case) -> None:
    by_op = costs.steps(case.fitted.program)
    layers = case.document["monitors"][3]["details"]["layers"]
    program = case.fitted.program
    perfect = [program.value(n.inputs[0]).length for n in program.nodes if n.op == "perfect_trees"]
    trees = by_op.get("trees", 0) + by_op.get("perfect_trees", 0)
    assert trees == sum(layer["depth"] + 1 for layer in layers) + sum(perfect)
    assert sum(by_op.values()) <= sum(m["steps"] for m in case.document["monitors"])


def test_one_monitor_without_errors_to_find(tmp_path: Path) -> None:
    rows = make_splits(tmp_path, "int8")
    rows = replace(rows, test=rows.test.take(np.flatnonzero(rows.test.correct)))
    case = make_case(rows, "softmax")
    metrics = case.document["monitors"][0]["metrics"]
    assert (metrics["mcc"], metrics["auroc"], metrics["missed"]) == (None, None, None)
    assert next(f["kind"] for f in case.document["findings"]) == "no_wrong_test_rows"
    assert "n/a" in Reader(case.page).shown
    assert "softmax raises an alarm" in Reader(case.page).shown
    assert "all together" not in case.page
    assert "quality-title" not in case.page  # a plot of one point beside an empty half


def test_a_class_without_a_box_has_no_finite_score(tmp_path: Path) -> None:
    rows = make_splits(tmp_path, "int8")
    fit = rows.fit
    rows = replace(rows, fit=fit.take(np.flatnonzero((fit.predicted != 1) | ~fit.correct)))
    case = make_case(rows, "box")
    assert case.document["promise"] is None
    bins = case.document["monitors"][0]["histogram"]
    nowhere = int((rows.test.predicted == 1).sum())
    assert bins["infinite_right"] + bins["infinite_wrong"] == nowhere > 0
    shown = Reader(case.page).shown
    assert "∞" in shown
    assert "Nothing is promised" in shown


def test_a_fault_ranks_first(tmp_path: Path) -> None:
    case = make_case(make_splits(tmp_path, "float32"), "softmax")
    found = case.fitted.on_test
    verdicts, scores = found.verdicts.copy(), found.scores[0].copy()
    verdicts[:7], scores[:7] = Verdict.FAULT, 0
    faulty = replace(case.fitted, on_test=replace(found, verdicts=verdicts, scores=(scores,)))
    manifest = {
        **case.document, "monitors": entries(faulty, case.rows),
        "realised": case.document["promise"]["realised"],
        "bytes": {"monitors": 1}, "estimated_us": 1.0,
    }  # fmt: skip
    artifact = flat.write(flat.Artifact(faulty.program, "00" * 32, {}, None))
    metadata = {"labels": ["a"] * CLASSES, "kernels": "builtin", "target": "host"}
    document = collect(
        faulty, case.rows, FalseAlarmPromise(), manifest, metadata, artifact,
        images(case.rows.test),
    )  # fmt: skip
    monitor = document["monitors"][0]
    assert sum(v["fault"] for v in monitor["verdicts"].values()) == 7
    infinite = np.where(verdicts[:, 0] == Verdict.FAULT, np.inf, scores)
    expected = measure(verdicts[:, 0] != Verdict.TRUST, ~case.rows.test.correct, infinite)
    assert monitor["metrics"]["auroc"] == expected.auroc
    assert "softmax gives a fault on 7 test rows" in Reader(render(document)).shown


def test_heavy_tails_get_a_logarithmic_axis_and_all_rows() -> None:
    scores = np.concatenate([np.full(60, 1e-9), np.geomspace(1e-5, 0.5, 40), [0.0, np.inf]])
    wrong = np.arange(102) % 3 == 0
    bins = histogram(scores, wrong, (0.2, 0.2))
    assert bins["axis"] == "log"
    assert bins["edges"][0] > 0
    assert sum(bins["right"]) + sum(bins["wrong"]) == 101
    assert bins["infinite_right"] + bins["infinite_wrong"] == 1
    constant = histogram(np.zeros(5), np.zeros(5, bool), (0.0, 0.0))
    assert (constant["axis"], sum(constant["right"])) == ("linear", 5)
    nowhere = histogram(np.full(3, np.inf), np.array([True, False, True]), (0.0, 0.0))
    assert (nowhere["edges"], nowhere["infinite_wrong"]) == ([], 2)


def test_findings_name_weak_monitors_and_broken_promises(case: Case) -> None:
    document = json.loads(json.dumps(case.document))
    quiet, weak, reverse, late = document["monitors"]
    document["promise"]["realised"]["by_row"]["verdict"] |= {"rate": 0.2, "interval": [0.12, 0.3]}
    quiet["ties_broken"] = True
    weak["metrics"] |= {"auroc": 0.52, "auroc_interval": [0.45, 0.6]}
    reverse["metrics"] |= {"auroc": 0.3, "auroc_interval": [0.2, 0.4], "fpr": 0.01}
    late["metrics"] |= {"fpr": 0.21}
    late["metrics"]["confusion"] |= {"tp": 0, "fp": 0}
    document["splits"]["test"]["wrong"] = 7
    found = {f["kind"]: f["text"] for f in findings(document)}
    assert found["promise_not_met"].startswith("The verdict of softmax, entropy together raises")
    assert found["ties_broken"].startswith("softmax has few values")
    assert found["no_signal"].startswith("entropy shows no signal")
    assert found["backwards"].startswith("box ranks backwards")
    assert found["many_false_alarms"].startswith("prophecy alarms on 21.0%")
    assert found["never_alarms"].startswith("prophecy alarms on no test row")
    assert found["few_wrong_test_rows"].startswith("Only 7 of the 500")


def test_signals_are_compared_with_their_fusion(tmp_path: Path) -> None:
    case = make_case(make_splits(tmp_path, "int8"), "errors")
    signals = {c["signal"]: c["quality"] for c in case.document["comparison"]}
    assert "msp_t" in signals
    shown = Reader(case.page).shown
    assert "The signals alone, under the same promise" in shown
    assert f"{signals['msp_t']['auroc']:.3f}" in shown
    assert re.search("budget ?64 kB, any time", shown)
    assert "no limit" in shown
    assert render(json.loads(json.dumps(case.document))) == case.page


@pytest.mark.parametrize("monitors", ["errors", "softmax,box,prophecy,forest,pattern"])
def test_people_read_words_and_no_keys(monitors: str, tmp_path: Path) -> None:
    """But for names that one types, and what stands as code."""
    case = make_case(make_splits(tmp_path, "int8"), monitors)
    text = Reader(re.sub("<code>.*?</code>", "", case.page).replace("</", " </")).shown
    keys = set(re.findall(r"\b[a-z]+(?:_[a-z0-9]+)+\b", text))
    assert keys <= {*MONITORS}


def test_details_of_any_shape_are_laid_out() -> None:
    found = list(
        facts(
            {
                "layers": [
                    {"tap": "a", "agreement": 0.5, "then": "wrong"},
                    {"tap": "b", "if": ["x > 1", "y"], "then": "wrong"},
                ],
                "exact": {"rows": 1200, "by": {"lda": None}},
                "kept": list(range(100)),
                "nothing": [],
                "pair": (0.25, 0.5),
                "yes": True,
            }
        )
    )
    assert found == [
        Fact("exact: rows", "1,200"),
        Fact("exact: by: lda", "n/a"),
        Fact("kept", ", ".join(map(str, range(100))), folded=True),
        Fact("nothing", "none"),
        Fact("pair", "0.25, 0.5"),
        Fact("yes", "yes"),
        Table(
            "layers",
            ("tap", "agreement", "if"),
            (False, True, False),
            (("a", "0.5", ""), ("b", "", ["x > 1", "y"])),
            ("then wrong",),
        ),
    ]


def test_every_monitor_names_its_source() -> None:
    assert [m.kind for m in MONITORS.values() if not m.source] == []


def test_the_plots_are_imported_for_the_report_only() -> None:
    code = (
        "import sys, edgemon.compiler.pipeline; print({'matplotlib', 'jinja2'} & set(sys.modules))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "set()"


def test_the_report_of_rows_in_groups_speaks_of_groups(tmp_path: Path) -> None:
    rows = make_splits(tmp_path, "int8")
    rows = rows.map(lambda _, r: replace(r, groups=np.arange(len(r)) // 4))
    case = make_case(rows, "softmax,entropy", by="y+track[0]")
    document, test = case.document, rows.test
    groups = len(np.unique(test.groups))
    assert document["splits"]["test"]["groups"] == groups == document["groups"]["test"]
    promise = document["promise"]
    assert promise["rows"] == document["groups"]["drawn"] == len(case.fitted.draws)
    right = len(np.unique(test.groups[test.correct]))
    assert promise["realised"]["sets"] == "group"
    for name, kept in promise["realised"]["by_set"].items():
        assert kept["rows"] == right
        metrics = {m["name"]: m["metrics"] for m in [*document["monitors"]]}
        of_rows = {**metrics, "verdict": document["together"]["metrics"]}[name]
        assert abs(kept["rate"] - of_rows["fpr"]) < 0.05
        assert kept["interval"][1] - kept["interval"][0] > np.diff(of_rows["fpr_interval"])[0]
    page = Reader(case.page).shown
    assert "Rows come in groups (by y+track[0])" in page
    assert f"one of each of {promise['rows']} groups" in page
    found = {f["kind"]: f["text"] for f in document["findings"]}
    assert f"of {groups} groups (by y+track[0])" in found["grouped_rows"]


def test_times_are_estimates_and_shown_only_where_they_are_known(tmp_path: Path) -> None:
    rows = make_splits(tmp_path, "int8")
    for times in (TIMES, None):
        case = make_case(rows, "errors", times=times)
        known = times is not None
        shown = Reader(case.page).shown
        assert ("µs, estimated" in shown) is known
        assert ("from what each takes on the target" in shown) is known
        (monitor,) = case.document["monitors"]
        found = [case.document["cost"]["estimated_us"], monitor["estimated_us"]]
        found += [c["estimated_us"] for c in case.document["comparison"]]
        found += [c["estimated_us"] for c in monitor["details"]["selection"]]
        assert [v is not None for v in found] == [known] * len(found)
        if known:
            assert f"{monitor['estimated_us']:.2f}" in shown
