"""The commands as a user types them: results, JSON, exit codes, and sentences for mistakes."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from edgemon.compiler.bundle import Bundle
from edgemon.compiler.root import app
from tests.conftest import DEMO

MODEL, DATA = str(DEMO / "digits_int8.tflite"), str(DEMO / "digits.npz")


def edgemon(*arguments: str | Path) -> Result:
    return CliRunner().invoke(app, [str(a) for a in arguments])


def document(*arguments: str | Path) -> Any:
    result = edgemon(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(*arguments: str | Path, code: int = 2) -> str:
    """The one sentence of an error."""
    result = edgemon(*arguments)
    assert result.exit_code == code, (result.exit_code, result.stderr, result.exception)
    assert "Traceback" not in result.output + result.stderr
    lines = [v for v in result.stderr.splitlines() if v and not v.startswith(("INFO", "warning:"))]
    assert len(lines) == 1, lines
    assert lines[0].startswith("edgemon: ")
    return lines[0]


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from edgemon.compiler.root import app\n"
        "heavy = {'sklearn', 'scipy', 'onnx', 'onnxruntime', 'tensorflow', 'ai_edge_litert', "
        "'matplotlib', 'jinja2'}\n"
        "names = [c.name or c.callback.__name__ for c in app.registered_commands]\n"
        "print(sorted(heavy & set(sys.modules)), names)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (
        found.stdout.strip()
        == "[] ['compile', 'inspect', 'verify', 'run', 'bench', 'evaluate', 'replicate', "
        "'density-curve', 'compare', 'guarantee', 'shift']"
    )


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


def test_compile_is_repeatable(tmp_path: Path) -> None:
    for name in ("a", "b"):
        document("compile", MODEL, "--data", DATA, "--out", tmp_path / name)
    files = ("monitor.emon", "monitor.onnx", "model.tapped.tflite", "manifest.json")
    for file in (*files, "report.html", "report.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_auto_fuses_signals_and_explains_its_alarms(tmp_path: Path) -> None:
    result = edgemon("compile", MODEL, "--data", DATA, "--out", tmp_path / "b")
    assert result.exit_code == 0, result.stderr
    assert "the signals alone, under the same promise, cheapest first" in result.stdout
    found = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert [m["name"] for m in found["monitors"]] == ["errors"]
    assert found["monitors"][0]["threshold_from"] == "held-out"
    kept = {c["signal"] for c in found["comparison"] if c["kept"]}
    assert kept
    assert "msp_t" in {c["signal"] for c in found["comparison"]}
    rows = [
        json.loads(r)
        for r in edgemon("run", tmp_path / "b", "--data", DATA, "--json-lines").stdout.splitlines()
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
    assert {c["signal"] for c in found["comparison"] if c["novelty"]} >= {"density", "prototypes"}
    assert document("verify", tmp_path / "b", "--data", DATA)["mismatches"] == 0


def test_methods_keep_their_own_thresholds_on_request(tmp_path: Path) -> None:
    common = ("compile", MODEL, "--data", DATA, "--monitor", "box", "--out")
    own = document(*common, tmp_path / "a", "--thresholds", "method")["monitors"][0]
    assert (own["threshold"], own["threshold_from"]) == (0.0, "method")
    calibrated = document(*common, tmp_path / "b")["monitors"][0]
    assert calibrated["threshold_from"] == "held-out"
    assert calibrated["false_alarm_rate"] < own["false_alarm_rate"]


def test_compile_says_accuracy_first(tmp_path: Path) -> None:
    result = edgemon(
        "compile", MODEL, "--data", DATA, "--out", tmp_path / "b", "--monitor", "softmax"
    )
    assert result.stdout.startswith("accuracy 91.11%")


def test_separate_files_and_ranges(tmp_path: Path) -> None:
    found = document(
        "compile", MODEL, "--fit", DATA + "[0:600]", "--calibrate", DATA + "[600:1000]",
        "--test", DATA + "[1000:]", "--out", tmp_path / "b", "--monitor", "softmax",
    )  # fmt: skip
    assert found["rows"] == {"fit": 600, "threshold": 400, "test": 395}


def test_inspect_shows_models_and_bundles(digits_bundle: Path) -> None:
    model = document("inspect", MODEL)
    assert model["classes"] == 8
    assert {"logits", "softmax", "penultimate"} <= model["suggested_taps"].keys()
    bundle = document("inspect", digits_bundle)
    assert bundle["sections"].keys() >= {"program", "taps", "nodes", "tables", "data", "self_test"}
    assert [m["name"] for m in bundle["monitors"]] == ["softmax", "box", "prophecy"]
    text = edgemon("inspect", digits_bundle).stdout
    assert "then wrong" in text
    assert "boxes per class" in text


def test_verify_with_and_without_data(digits_bundle: Path) -> None:
    alone = document("verify", digits_bundle)
    assert alone["mismatches"] == alone["rows"] == 0
    assert alone["neighbours"] > 1000
    novel = document("verify", digits_bundle, "--data", DEMO / "novelty.npz")
    assert novel["rows"] == 354
    assert novel["mismatches"] == 0


def test_verify_fails_with_4_when_the_onnx_differs(digits_bundle: Path, tmp_path: Path) -> None:
    import onnx

    other = copy(digits_bundle, tmp_path / "other")
    model = onnx.load(other / "monitor.onnx")
    softmax = next(n for n in model.graph.node if n.op_type == "Greater")
    threshold = next(t for t in model.graph.initializer if t.name == softmax.input[1])
    changed = onnx.numpy_helper.to_array(threshold) * 1000
    threshold.CopyFrom(onnx.numpy_helper.from_array(changed, threshold.name))
    onnx.save(model, other / "monitor.onnx")
    manifest = json.loads((other / "manifest.json").read_text())
    found = hashlib.sha256((other / "monitor.onnx").read_bytes()).hexdigest()
    manifest["sha256"]["monitor.onnx"] = found
    (other / "manifest.json").write_text(json.dumps(manifest))
    assert "differ between the reference, C and ONNX" in refused("verify", other, code=4)


def test_verify_refuses_another_model(digits_bundle: Path, tmp_path: Path) -> None:
    other = copy(digits_bundle, tmp_path / "other")
    (other / "model.tapped.tflite").write_bytes(Path(MODEL).read_bytes())
    assert "not the file that compile wrote" in refused("verify", other)


@pytest.mark.parametrize(
    "file", ["monitor.emon", "monitor.onnx", "model.tapped.tflite", "manifest.json"]
)
@pytest.mark.parametrize("damage", ["missing", "truncated", "flipped"])
def test_a_damaged_bundle_is_refused(
    digits_bundle: Path, tmp_path: Path, file: str, damage: str
) -> None:
    other = copy(digits_bundle, tmp_path / "other")
    content = bytearray((other / file).read_bytes())
    if damage == "missing":
        (other / file).unlink()
    elif damage == "truncated":
        (other / file).write_bytes(content[: len(content) // 2])
    else:
        content[len(content) // 2] ^= 0x55
        (other / file).write_bytes(content)
    result = edgemon("verify", other)
    # A changed number in the report decides nothing: that bundle may pass, the others may not.
    passes = (0,) if (file, damage) == ("manifest.json", "flipped") else ()
    assert result.exit_code in (2, 4, *passes), (result.stdout, result.stderr, result.exception)
    assert "Traceback" not in result.stderr


def test_run_prints_verdicts_and_a_summary(digits_bundle: Path) -> None:
    result = edgemon("run", digits_bundle, "--data", str(DEMO / "novelty.npz") + "[0:7]")
    assert result.exit_code == 0
    assert len(result.stdout.splitlines()) == 8
    assert "rows of an unknown class" in result.stdout
    found = document("run", digits_bundle, "--data", DATA + "[0:50]")
    assert len(found["rows"]) == 50
    assert found["rows"][0].keys() >= {"prediction", "verdict", "score", "reason", "correct"}
    lines = edgemon("run", digits_bundle, "--data", DATA + "[0:50]", "--json-lines").stdout
    assert [json.loads(v) for v in lines.splitlines()] == found["rows"]


def test_bench_json_and_budgets(digits_bundle: Path) -> None:
    common = ("bench", digits_bundle, "--data", DATA + "[0:20]", "--rounds", "20")
    found = document(*common)
    for key in ("model_us", "with_monitors_us"):
        assert list(found[key]) == ["min", "p50", "p90", "p99", "max"]
        assert 0 < found[key]["min"] <= found[key]["p50"] <= found[key]["max"]
    assert found["overhead_ratio"] > 0
    assert [m["name"] for m in found["monitors"]] == ["softmax", "box", "prophecy", "all"]
    assert all(m["c_ns"] > 0 for m in found["monitors"])
    assert found["device"]["flash_bytes"] > found["device"]["artifact_bytes"]
    met = edgemon(*common, "--budget", "flash_bytes=1e9,ram_bytes=1e6")
    assert met.exit_code == 0
    missed = refused(*common, "--budget", "flash_bytes=10", code=3)
    assert "flash_bytes is" in missed
    assert "unknown budget 'flash'" in refused(*common, "--budget", "flash=10")
    assert "'fast' is not a number" in refused(*common, "--budget", "latency_us=fast")


MISTAKES: dict[str, tuple[tuple[str, ...], str]] = {
    "no such model": (("nowhere.tflite", "--data", DATA), "does not exist"),
    "model is a text file": (
        (str(DEMO / "train.py"), "--data", DATA),
        "no model that edgemon reads",
    ),
    "model is data": ((DATA, "--data", DATA), "no model that edgemon reads"),
    "no such data": ((MODEL, "--data", "nowhere.npz"), "no such file"),
    "data is the model": ((MODEL, "--data", MODEL), "no data that edgemon reads"),
    "no data at all": ((MODEL,), "give either --data, or all of --fit, --calibrate and --test"),
    "half of the files": ((MODEL, "--fit", DATA), "give either --data, or all of"),
    "overlapping files": (
        (
            MODEL,
            "--fit",
            DATA + "[0:600]",
            "--calibrate",
            DATA + "[500:900]",
            "--test",
            DATA + "[900:]",
        ),
        "equal rows are in two of them (100 in fit and threshold)",
    ),
    "range beyond the end": ((MODEL, "--data", DATA + "[5000:6000]"), "5000"),
    "labels of other classes": ((MODEL, "--data", str(DEMO / "novelty.npz")), "has no class"),
    "wrong size": ((MODEL, "--data", DATA, "--preprocess", "resize=16x16"), "needs (8, 8, 1)"),
    "wrong scale": ((MODEL, "--data", DATA, "--preprocess", "scale=1/255"), "with no --preprocess"),
    "wrong order": ((MODEL, "--data", DATA, "--label-order", "alphabetical"), "alphabetical"),
    "unknown preprocessing": ((MODEL, "--data", DATA, "--preprocess", "scael=2"), "scael"),
    "accuracy below": (
        (MODEL, "--data", DATA, "--expect-accuracy", "0.99"),
        "below the 99.00% expected",
    ),
    "unknown monitor": ((MODEL, "--data", DATA, "--monitor", "sofmax"), "unknown monitor 'sofmax'"),
    "unknown tap": (
        (MODEL, "--data", DATA, "--monitor", "box", "--taps", "box=layer9"),
        "layer9",
    ),
    "unknown profile": ((MODEL, "--data", DATA, "--profile", "ood"), "use errors or scod"),
    "unknown thresholds": (
        (MODEL, "--data", DATA, "--thresholds", "tuned"),
        "use guaranteed or method",
    ),
    "tap of no monitor": (
        (MODEL, "--data", DATA, "--taps", "bx=gap"),
        "'bx' is not among the monitors",
    ),
    "taps that no monitor reads": (
        (MODEL, "--data", DATA, "--monitor", "softmax", "--taps", "penultimate"),
        "no monitor here reads layers; write softmax=penultimate",
    ),
    "taps that the model lacks": (
        (MODEL, "--data", DATA, "--monitor", "box", "--taps", "gap"),
        "the rule 'gap' finds no tensor",
    ),
    "percent for a share": ((MODEL, "--data", DATA, "--expect-accuracy", "85"), "as 0.85"),
    "tree without depth": (
        (MODEL, "--data", DATA, "--monitor", "prophecy:max_depth=0"),
        "max_depth=0 must lie between 1 and 64",
    ),
    "infinite boxes": (
        (MODEL, "--data", DATA, "--monitor", "box:gamma=inf"),
        "gamma=inf must lie between 0 and 100",
    ),
    "no clusters": ((MODEL, "--data", DATA, "--monitor", "box:max_clusters=0"), "max_clusters=0"),
    "endless name": (("x" * 300, "--data", DATA), "x" * 300),
    "unknown target": ((MODEL, "--data", DATA, "--target", "toaster"), "there are host-x86_64"),
    "too few rows": ((MODEL, "--data", DATA + "[0:200]"), "correct threshold rows"),
    "rate out of range": ((MODEL, "--data", DATA, "--false-alarm", "5"), "between 0 and 1"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence_and_leaves_nothing(mistake: str, tmp_path: Path) -> None:
    arguments, sentence = MISTAKES[mistake]
    assert sentence in refused("compile", *arguments, "--out", tmp_path / "bundle")
    assert not list(tmp_path.iterdir())


def test_expected_accuracy_is_asked_of_all_rows_and_not_of_the_first_look(tmp_path: Path) -> None:
    """The test rows alone give 87.46 %, all rows 91.11 %."""
    common = ("compile", MODEL, "--data", DATA, "--monitor", "softmax", "--out")
    document(*common, tmp_path / "a", "--expect-accuracy", "0.91")
    message = refused(*common, tmp_path / "b", "--expect-accuracy", "0.912")
    assert "accuracy is 91.11% on 1395 rows, below the 91.20% expected" in message


def test_run_compares_words_by_name_when_classes_are_absent(tmp_path: Path) -> None:
    with np.load(DATA) as data:
        x, y = data["x"], data["y"]
    words = np.array([f"digit {c}" for c in range(8)])[y]
    np.savez(tmp_path / "all.npz", x=x, y=words)
    np.savez(tmp_path / "some.npz", x=x[y > 2], y=words[y > 2])
    document(
        "compile", MODEL, "--data", tmp_path / "all.npz", "--monitor", "softmax",
        "--out", tmp_path / "b",
    )  # fmt: skip
    rows = document("run", tmp_path / "b", "--data", tmp_path / "some.npz")["rows"]
    right = sum(r["correct"] for r in rows) / len(rows)
    assert right > 0.85
    assert all(r["correct"] == (r["prediction"] == r["label"]) for r in rows)


def test_run_json_has_no_nan_for_a_faulty_image(digits_bundle: Path, tmp_path: Path) -> None:
    with np.load(DATA) as data:
        x = data["x"][:3].astype(np.float32)
    x[1, 0, 0, 0] = np.nan
    np.save(tmp_path / "x.npy", x)
    result = edgemon("run", digits_bundle, "--data", tmp_path / "x.npy", "--json")
    rows = json.loads(result.stdout, parse_constant=lambda c: pytest.fail(c))["rows"]
    assert [r["verdict"] == "fault" for r in rows] == [False, True, False]
    assert rows[1]["score"] is None


def test_bench_refuses_a_changed_model(digits_bundle: Path, tmp_path: Path) -> None:
    other = copy(digits_bundle, tmp_path / "other")
    content = bytearray((other / "model.tapped.tflite").read_bytes())
    content[len(content) // 2] ^= 1
    (other / "model.tapped.tflite").write_bytes(content)
    assert "not the file that compile wrote" in refused("bench", other, "--data", DATA)


def test_a_manifest_cannot_send_verify_elsewhere(digits_bundle: Path, tmp_path: Path) -> None:
    other = copy(digits_bundle, tmp_path / "other")
    manifest = json.loads((other / "manifest.json").read_text())
    manifest["sha256"]["/dev/zero"] = "x"
    (other / "manifest.json").write_text(json.dumps(manifest))
    assert document("verify", other)["mismatches"] == 0
    (other / "manifest.json").write_text("{}")
    assert "the manifest is damaged" in refused("inspect", other)


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
    (tmp_path / "file").write_text("")
    message = refused("compile", "nowhere.tflite", "--data", DATA, "--out", tmp_path / "file" / "x")
    assert "cannot write there" in message


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_stopped_compile_leaves_nothing(name: str, tmp_path: Path) -> None:
    number = signal.Signals[name]
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    # A job in the background inherits ignored signals: give the child those of a terminal.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGHUP, signal.SIG_DFL)\n"
        "from edgemon.compiler.main import main; main()"
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


def test_commands_on_something_that_is_no_bundle(tmp_path: Path) -> None:
    for command in (("verify",), ("run", "--data", DATA), ("bench", "--data", DATA), ("inspect",)):
        assert "bundle" in refused(command[0], tmp_path, *command[1:])


def copy(bundle: Path, to: Path) -> Path:
    import shutil

    shutil.copytree(bundle, to)
    return to
