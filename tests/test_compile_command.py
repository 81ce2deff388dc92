"""``edgemon compile`` as a user types it: results and choices."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.bundle.bundle import Bundle
from tests.command_line import DATA, MODEL, copy, document, edgemon, refused
from tests.conftest import DEMO
from tests.tiny_tflite import write_tiny


def test_layers_that_no_monitor_came_to_read_are_no_outputs(tmp_path: Path) -> None:
    """The choice of layers is made after recording; the device computes and reads the rest only."""
    out = tmp_path / "bundle"
    found = document(
        "compile", MODEL, "--data", DATA, "--monitor", "selfchecker:max_layers=1", "--out", out
    )
    (monitor,) = found["monitors"]
    (layer,) = monitor["details"]["layers"]
    assert monitor["taps"] == [layer["tap"]]
    metadata = Bundle.open(out).artifact.metadata
    assert [t["name"] for t in metadata["taps"]][1:] == [layer["tap"]]
    assert found["proof"]["mismatches"] == found["proof"]["output_mismatches"] == 0
    assert edgemon("verify", out, "--data", f"{DATA}[0:300]").exit_code == 0


def test_compile_json_has_what_pipelines_read(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    found = document(
        "compile", MODEL, "--data", DATA, "--monitor", "softmax,entropy", "--out", out, "--c-header"
    )
    assert 0.85 < found["accuracy"] < 0.95
    assert found["rows"].keys() == {"fit", "threshold", "test"}
    assert sum(found["rows"].values()) == 1395
    for monitor in found["monitors"]:
        assert monitor.keys() >= {"name", "threshold", "bytes", "mcc", "auroc", "false_alarm_rate"}
    assert found["proof"]["mismatches"] == 0
    assert found["proof"]["output_mismatches"] == 0
    assert {p.name for p in out.iterdir()} == {
        "monitor.emon", "monitor.onnx", "model.tapped.tflite", "manifest.json", "splits.npz",
        "monitor.h", "report.html", "report.json",
    }  # fmt: skip
    with np.load(out / "splits.npz") as splits:
        rows = np.concatenate([splits[name] for name in ("fit", "threshold", "test")])
    assert len(np.unique(rows)) == len(rows) == 1395


@pytest.fixture(scope="module")
def default(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """What ``compile -v`` prints without further options, and the bundle, which stays as it is."""
    out = tmp_path_factory.mktemp("default") / "b"
    result = edgemon("compile", MODEL, "--data", DATA, "--out", out, "-v")
    assert result.exit_code == 0, result.stderr
    return result.stdout, out


@pytest.mark.xdist_group("default compile")
def test_compile_is_repeatable(default: tuple[str, Path], tmp_path: Path) -> None:
    document("compile", MODEL, "--data", DATA, "--out", tmp_path / "b")
    files = ("monitor.emon", "monitor.onnx", "model.tapped.tflite", "manifest.json")
    for file in (*files, "report.html", "report.json"):
        assert (default[1] / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


@pytest.mark.xdist_group("default compile")
def test_auto_fuses_signals_and_explains_its_alarms(default: tuple[str, Path]) -> None:
    shown, bundle = default
    assert shown.startswith("accuracy 91.11%")
    assert "what other promises of it alone would catch" in shown
    assert "the signals alone, under the same promise, cheapest first" in shown
    found = json.loads((bundle / "manifest.json").read_text())
    assert [m["name"] for m in found["monitors"]] == ["errors"]
    assert found["monitors"][0]["threshold_from"] == "held-out"
    kept = {c["signal"] for c in found["comparison"] if c["kept"]}
    assert kept
    assert "msp_t" in {c["signal"] for c in found["comparison"]}
    rows = [
        json.loads(r)
        for r in edgemon("run", bundle, "--data", DATA, "--json-lines").stdout.splitlines()
    ]
    alarmed = [r for r in rows if r.get("verdict") == "alarm"]
    assert alarmed
    for row in alarmed:
        assert row["monitors"] == {"errors": "alarm"}
        assert set(row["terms"]) == {f"errors.{k}" for k in kept}
        assert row["reason"].startswith("errors: ")
        assert "where 99 % of correct rows stay below" in row["reason"]


def test_profile_scod_adds_novelty(tmp_path: Path) -> None:
    found = document("compile", MODEL, "--data", DATA, "--out", tmp_path / "b", "--profile", "scod")
    assert [m["name"] for m in found["monitors"]] == ["scod"]
    novelty = {c["signal"] for c in found["comparison"] if c["novelty"]}
    assert novelty >= {"subspace", "class_subspace"}
    assert document("verify", tmp_path / "b", "--data", DATA)["mismatches"] == 0


def test_methods_keep_their_own_thresholds_on_request(tmp_path: Path) -> None:
    common = ("compile", MODEL, "--data", DATA, "--monitor", "box", "--out")
    own = document(*common, tmp_path / "a", "--thresholds", "method")["monitors"][0]
    assert (own["threshold"], own["threshold_from"]) == (0.0, "method")
    calibrated = document(*common, tmp_path / "b")["monitors"][0]
    assert calibrated["threshold_from"] == "held-out"
    assert calibrated["false_alarm_rate"] < own["false_alarm_rate"]


def test_separate_files_and_ranges(tmp_path: Path) -> None:
    found = document(
        "compile", MODEL, "--fit", DATA + "[0:600]", "--calibrate", DATA + "[600:1000]",
        "--test", DATA + "[1000:]", "--out", tmp_path / "b", "--monitor", "softmax",
    )  # fmt: skip
    assert found["rows"] == {"fit": 600, "threshold": 400, "test": 395}


def test_expected_accuracy_is_asked_of_all_rows_and_not_of_the_first_look(tmp_path: Path) -> None:
    """The test rows alone give 87.46 %, all rows 91.11 %."""
    common = ("compile", MODEL, "--data", DATA, "--monitor", "softmax", "--out")
    document(*common, tmp_path / "a", "--expect-accuracy", "0.91")
    message = refused(*common, tmp_path / "b", "--expect-accuracy", "0.912")
    assert "accuracy is 91.11% on 1395 rows, below the 91.20% expected" in message


def test_rows_that_overflow_in_the_model_are_left_out(shared: Path, tmp_path: Path) -> None:
    """They once ended the compile in an internal error of a library."""
    images = shared / "data" / "images"
    with np.load(images / "mnist_test.npz") as data:
        x, y = data["x"][:2000].astype(np.float32) / 255, data["y"][:2000]
    x[::100] = 3e38
    np.savez(tmp_path / "d.npz", x=x, y=y)
    model = images / "models" / "mnist_edgeairtt.tflite"
    result = edgemon("compile", model, "--data", tmp_path / "d.npz", "--out", tmp_path / "b")
    assert result.exit_code == 0, result.stderr
    assert "are left out" in result.stderr


def test_force_through_a_link_is_refused_and_keeps_everything(
    digits_bundle: Path, tmp_path: Path
) -> None:
    bundle = copy(digits_bundle, tmp_path / "bundle")
    (tmp_path / "link").symlink_to(bundle)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    for name in ("link", "dangling"):
        message = refused("compile", MODEL, "--data", DATA, "--out", tmp_path / name, "--force")
        assert "not an edgemon bundle" in message
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bundle", "dangling", "link"]


def test_a_place_that_cannot_be_written_is_refused_at_once(tmp_path: Path) -> None:
    no_data = tmp_path / "file.npz"  # which would be refused as soon as it is read
    no_data.write_text("")
    for out in (no_data / "x", tmp_path / ("x" * 300)):
        assert "cannot write there" in refused("compile", MODEL, "--data", no_data, "--out", out)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_stopped_compile_leaves_nothing(name: str, tmp_path: Path) -> None:
    number = signal.Signals[name]
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    # A job in the background inherits ignored signals: give the child those of a terminal.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "from edgemon.compiler.commands.main import main; main()"
    )
    command = [sys.executable, "-c", code, "compile", MODEL, "--data", DATA]
    process = subprocess.Popen(
        [*command, "--out", str(tmp_path / "out")],
        env={**os.environ, "TMPDIR": str(scratch)},
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(scratch.rglob("*.npy")) and time.monotonic() < deadline:
        time.sleep(0.02)
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode not in (0, -number)
    assert [p.name for p in tmp_path.iterdir()] == ["tmp"]
    assert not [p for p in scratch.iterdir() if p.name.startswith("edgemon-")]


def test_unlabelled_data_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((30, 8, 8, 1), np.uint8))
    message = refused("compile", MODEL, "--data", tmp_path / "x.npy", "--out", tmp_path / "b")
    assert "no labels" in message


def test_an_existing_folder_is_kept(digits_bundle: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("irreplaceable")
    common = ("compile", MODEL, "--data", DATA, "--monitor", "softmax", "--out")
    assert "exists" in refused(*common, mine)
    assert "not an edgemon bundle" in refused(*common, mine, "--force")
    assert (mine / "thesis.txt").read_text() == "irreplaceable"
    bundle = copy(digits_bundle, tmp_path / "bundle")
    before = (bundle / "monitor.emon").read_bytes()
    assert "with --force" in refused(*common, bundle)
    assert "no class" in refused(
        "compile", MODEL, "--data", DEMO / "novelty.npz", "--out", bundle, "--force"
    )
    assert (bundle / "monitor.emon").read_bytes() == before
    document(*common, bundle, "--force")
    assert (bundle / "monitor.emon").read_bytes() != before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bundle", "mine"]


def test_a_miss_rate_is_promised_in_place_of_false_alarms(tmp_path: Path) -> None:
    found = document(
        "compile", MODEL, "--data", DATA, "--out", tmp_path / "b", "--miss-rate", "0.3"
    )
    assert (found["options"]["promise_of"], found["options"]["rate"]) == ("misses", 0.3)
    promise = json.loads((tmp_path / "b" / "report.json").read_text())["promise"]
    assert (promise["of"], promise["per_class"]) == ("misses", "")
    assert "of the wrong answers," in (tmp_path / "b" / "report.html").read_text()


def test_an_excess_and_a_rank_say_what_they_are(tiny_data: Path, tmp_path: Path) -> None:
    """Their alarms once called an excess over a threshold, or a rank, a probability."""
    model = write_tiny(tmp_path / "tiny.tflite")
    common = ("compile", model, "--data", tiny_data, "--false-alarm", "0.2", "--confidence", "0.8")
    found = document(
        *common, "--monitor", "softmax", "--per-class", "each", "--out", tmp_path / "a"
    )
    by_class = found["monitors"][0]["class_thresholds"]
    assert len(by_class) == 3
    assert all(0 < p < 1 for p in by_class)
    assert "threshold of the predicted class" in (tmp_path / "a" / "report.html").read_text()
    assert "by class" in edgemon("inspect", tmp_path / "a").stdout
    lines = edgemon("run", tmp_path / "a", "--data", tiny_data, "--json-lines").stdout.splitlines()
    reasons = {r["reason"] for r in map(json.loads, lines) if r.get("verdict") == "alarm"}
    assert reasons
    assert all("its score exceeds the threshold of this class by" in r for r in reasons)
    found = document(*common, "--monitor", "prophecy", "--out", tmp_path / "b")
    (monitor,) = found["monitors"]
    assert monitor["ties_broken"]
    assert "with ties ranked by the softmax" in monitor["reason"]
    assert document("verify", tmp_path / "a", "--data", tiny_data)["mismatches"] == 0


def test_values_that_the_input_clips_and_a_better_preprocessing_are_said(tmp_path: Path) -> None:
    """Pixels that were not scaled cost the accuracy only a little, and nobody noticed."""
    common = ("compile", MODEL, "--data", DATA, "--monitor", "softmax", "--preprocess", "scale=3")
    result = edgemon(*common, "--out", tmp_path / "b", "-v")
    assert result.exit_code == 0, result.stderr
    assert "of the input's values are clipped" in result.stderr
    assert "With no --preprocess the model would be right on" in result.stderr
    assert "of the values are clipped, and they use 100.00% of its range" in result.stdout
    found = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert 0.1 < found["clipped_share"] < 0.9
    assert found["input"]["better"]["accuracy"] > found["input"]["better"]["accuracy_now"]
    kinds = {f["kind"] for f in found["findings"]}
    assert kinds >= {"clipped_input", "better_alternative"}
    assert "values are clipped" in (tmp_path / "b" / "report.html").read_text()
    plain = document(
        "compile", MODEL, "--data", DATA, "--monitor", "softmax", "--out", tmp_path / "p"
    )
    assert plain["clipped_share"] == 0
    assert plain["input"]["better"] is None


def test_a_row_in_two_published_parts_can_be_left_out_of_the_later(tmp_path: Path) -> None:
    parts = ("--fit", f"{DATA}[0:800]", "--calibrate", f"{DATA}[799:1100]", "--test")
    common = ("compile", MODEL, *parts, f"{DATA}[1100:1395]", "--monitor", "softmax")
    assert "--shared-rows drop" in refused(*common, "--out", tmp_path / "b")
    result = edgemon(*common, "--shared-rows", "drop", "--out", tmp_path / "b")
    assert result.exit_code == 0, result.stderr
    assert "1 of 301 rows are in an earlier part too" in result.stderr
    found = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert found["rows"] == {"fit": 800, "threshold": 300, "test": 295}
    with np.load(tmp_path / "b" / "splits.npz") as splits:
        assert 799 not in splits["threshold"]


def test_early_exit_says_what_it_changes(tmp_path: Path) -> None:
    """The time of trees may depend on the input then; with none, nothing does."""
    common = ("compile", MODEL, "--data", DATA, "--early-exit", "--out")
    trees = edgemon(*common, tmp_path / "a", "--monitor", "prophecy")
    assert trees.exit_code == 0, trees.stderr
    assert "node(s) of trees depends on the input" in " ".join(trees.stdout.split())
    program = Bundle.open(tmp_path / "a").artifact.program
    ops = {node.op for node in program.nodes}
    assert "early_trees" in ops
    assert "trees" not in ops
    none = edgemon(*common, tmp_path / "b", "--monitor", "softmax")
    assert none.exit_code == 0, none.stderr
    assert none.stdout.startswith("accuracy 91.11%"), "with -v or without, the first thing said"
    assert "--early-exit changes nothing here" in " ".join(none.stderr.split())
