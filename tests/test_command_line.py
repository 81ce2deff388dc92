"""The other commands as a user types them: results, exit codes, and sentences for mistakes."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.command_line import DATA, MODEL, bench_of, copy, document, edgemon, refused
from tests.conftest import DEMO


def test_help_is_quick_and_imports_nothing_heavy() -> None:
    code = (
        "import sys; from edgemon.compiler.commands.root import app\n"
        "heavy = {'sklearn', 'scipy', 'onnx', 'onnxruntime', 'tensorflow', 'ai_edge_litert', "
        "'matplotlib', 'jinja2'}\n"
        "names = [c.name or c.callback.__name__ for c in app.registered_commands]\n"
        "print(sorted(heavy & set(sys.modules)), names)"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy, names = found.stdout.strip().split("] ", 1)
    assert heavy == "["
    assert {"compile", "inspect", "verify", "run", "sign", "fleet"} <= set(ast.literal_eval(names))


def test_inspect_shows_models_and_bundles(digits_bundle: Path) -> None:
    model = document("inspect", MODEL)
    assert model["classes"] == 8
    assert {"logits", "softmax", "penultimate"} <= model["suggested_taps"].keys()
    bundle = document("inspect", digits_bundle)
    assert bundle["sections"].keys() >= {"program", "taps", "nodes", "tables", "data", "self_test"}
    worst = bundle["worst_case"]
    manifest = json.loads((digits_bundle / "manifest.json").read_text())
    assert worst == manifest["worst_case"]
    assert bundle["worst_case_alone"].keys() >= {m["name"] for m in bundle["monitors"]}
    for own in bundle["worst_case_alone"].values():
        assert all(0 < own[key] <= most for key, most in worst.items())
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
    assert "not the file that compile wrote" in refused("verify", other, code=9)


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
    none_left = (2,) if (file, damage) == ("monitor.emon", "missing") else ()
    assert result.exit_code in (9, *none_left, *passes), (
        result.stdout,
        result.stderr,
        result.exception,
    )
    assert "Traceback" not in result.stderr


def test_run_prints_verdicts_and_a_summary(digits_bundle: Path) -> None:
    result = edgemon("run", digits_bundle, "--data", str(DEMO / "novelty.npz") + "[0:7]")
    assert result.exit_code == 0
    head, first, *_ = result.stdout.splitlines()
    assert len(result.stdout.splitlines()) == 9
    assert head.split() == ["row", "answer", "label", "right?", "verdict", "why"]
    for column, value in (("label", "9 "), ("right?", "new class"), ("verdict", "alarm")):
        assert first[head.index(column) :].startswith(value)
    assert "rows of an unknown class" in result.stdout
    known = edgemon("run", digits_bundle, "--data", DATA + "[0:50]").stdout.splitlines()
    assert {line[head.index("right?") :].split()[0] for line in known[1:-1]} == {"yes", "no"}
    found = document("run", digits_bundle, "--data", DATA + "[0:50]")
    assert len(found["rows"]) == 50
    assert found["rows"][0].keys() >= {"prediction", "verdict", "score", "reason", "correct"}
    lines = edgemon("run", digits_bundle, "--data", DATA + "[0:50]", "--json-lines").stdout
    assert [json.loads(v) for v in lines.splitlines()] == found["rows"]


def test_bench_json_and_budgets(digits_bundle: Path) -> None:
    common = bench_of(digits_bundle)
    found = document(*common)
    for key in ("model_us", "with_monitors_us", "bare_us", "session_us"):
        assert list(found[key]) == ["min", "p50", "p90", "p99", "max"]
        assert 0 < found[key]["min"] <= found[key]["p50"] <= found[key]["max"]
    assert found["overhead_ratio"] > 0
    assert [m["name"] for m in found["monitors"]] == ["softmax", "box", "prophecy", "all"]
    for line in found["monitors"]:
        spread = line["c_ns_distribution"]
        assert (line["c_ns"], line["c_ns_p50"]) == (spread["min"], spread["p50"])
        assert line["share_of_model"] == pytest.approx(
            line["c_ns"] / 1e3 / found["model_us"]["min"]
        )
    over = found["session_us"]["min"] - found["bare_us"]["min"]
    assert found["session_overhead_us"] == pytest.approx(over)
    assert found["first_us"] > 0
    assert (found["rounds"], found["blocks"]) == (20, 20)
    again = document(*common)
    assert again["crc32"] == found["crc32"]
    assert found["crc32"].keys() == {"model", "inputs", "taps", "outputs"}
    assert found["environment"].keys() >= {"governor", "load_average", "compiler", "processor"}
    assert found["device"]["flash_bytes"] > found["device"]["artifact_bytes"]
    met = edgemon(*common, "--budget", "flash_bytes=1e9,ram_bytes=1e6")
    assert met.exit_code == 0
    missed = refused(*common, "--budget", "flash_bytes=10", code=3)
    assert "flash_bytes is" in missed
    assert "unknown budget 'flash'" in refused(*common, "--budget", "flash=10")
    assert "'fast' is not a number" in refused(*common, "--budget", "latency_us=fast")


def test_bench_is_compared_with_an_earlier_document(digits_bundle: Path, tmp_path: Path) -> None:
    common = bench_of(digits_bundle)
    (tmp_path / "old.json").write_text(json.dumps(document(*common)))
    found = document(*common, "--compare", tmp_path / "old.json")["comparison"]
    lines = {line["name"]: line for line in found["lines"]}
    assert lines.keys() >= {"model_us", "session_us", "overhead_ratio", "all c_ns", "flash_bytes"}
    assert lines["flash_bytes"]["verdict"] == "same"
    assert not any(note.startswith("CRC") for note in found["notes"])
    assert "cannot be read" in refused(*common, "--compare", tmp_path / "none.json")


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
    assert "not the file that compile wrote" in refused("bench", other, "--data", DATA, code=9)


def test_a_manifest_cannot_send_verify_elsewhere(digits_bundle: Path, tmp_path: Path) -> None:
    other = copy(digits_bundle, tmp_path / "other")
    manifest = json.loads((other / "manifest.json").read_text())
    manifest["sha256"]["/dev/zero"] = "x"
    (other / "manifest.json").write_text(json.dumps(manifest))
    assert document("verify", other)["mismatches"] == 0
    (other / "manifest.json").write_text("{}")
    assert "the manifest is damaged" in refused("inspect", other, code=9)


def test_commands_on_something_that_is_no_bundle(tmp_path: Path) -> None:
    for command in (("verify",), ("run", "--data", DATA), ("bench", "--data", DATA), ("inspect",)):
        assert "bundle" in refused(command[0], tmp_path, *command[1:])


@pytest.mark.parametrize(("factor", "says"), [(50, "are clipped"), (0.01, "scaled twice"), (1, "")])
def test_run_says_that_rows_do_not_fit_the_input(
    factor: float, says: str, digits_bundle: Path, tmp_path: Path
) -> None:
    with np.load(DATA) as data:
        np.save(tmp_path / "x.npy", data["x"][:40] * factor)
    result = edgemon("run", digits_bundle, "--data", tmp_path / "x.npy")
    assert result.exit_code == 0, result.stderr
    assert says in result.stderr
    assert ("input's values" in result.stderr) == bool(says)
