"""A single output unit: where it decides, and that everything decides there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.runtime.session import Session
from tests.command_line import document, edgemon, refused
from tests.tiny_onnx import write_linear_onnx

W, B = np.array([[2.0], [-1.5], [1.0]]), np.array([0.1])
MONITORS = ("--monitor", "msp_t,entropy")


def linear(path: Path, head: str = "", w: np.ndarray = W, b: np.ndarray = B) -> Path:
    return write_linear_onnx(path, (3,), w, b, head)


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1,200 rows whose logits go from -8 to 8, of which the model has some 85 % right."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(1200, 3)).astype(np.float32)
    z = (x @ W + B)[:, 0] + rng.logistic(size=len(x))
    path = tmp_path_factory.mktemp("rows") / "rows.npz"
    np.savez(path, x=x, y=(z > 0).astype(np.int64))
    return path


def compiled(model: Path, rows: Path, out: Path, *more: str) -> Any:
    return document("compile", model, "--data", rows, *MONITORS, "--out", out, *more)


def predictions(bundle: Path, rows: Path) -> list[str]:
    return [r["prediction"] for r in document("run", bundle, "--data", rows)["rows"]]


def test_a_logit_is_not_cut_at_one_half(rows: Path, tmp_path: Path) -> None:
    with_sigmoid = compiled(linear(tmp_path / "p.onnx", "Sigmoid"), rows, tmp_path / "p")
    logit = compiled(linear(tmp_path / "z.onnx"), rows, tmp_path / "z")
    assert with_sigmoid["decision"]["threshold"] == 0.5
    assert "sigmoid" in with_sigmoid["decision"]["because"]
    assert logit["decision"]["threshold"] == 0
    assert "logit" in logit["decision"]["because"]
    assert logit["accuracy"] == with_sigmoid["accuracy"]
    assert predictions(tmp_path / "z", rows) == predictions(tmp_path / "p", rows)
    with np.load(rows) as stored:
        expected = (stored["x"].astype(np.float32) @ W + B)[:, 0] > 0
    assert predictions(tmp_path / "z", rows) == [str(int(v)) for v in expected]
    for monitors in (with_sigmoid, logit):  # the same logits, so the same scores
        assert [m["auroc"] for m in monitors["monitors"]] == pytest.approx(
            [m["auroc"] for m in with_sigmoid["monitors"]], abs=2e-3
        )


@pytest.mark.parametrize("head", ["", "Sigmoid"])
def test_a_threshold_that_is_set_holds_everywhere(head: str, rows: Path, tmp_path: Path) -> None:
    above = 0.3 if head else float(np.log(0.3 / 0.7))
    model, out = linear(tmp_path / "m.onnx", head), tmp_path / "b"
    found = compiled(model, rows, out, "--decision-threshold", str(above))
    assert found["decision"] == {"threshold": above, "because": "--decision-threshold says so"}
    with np.load(rows) as stored:
        x, y = stored["x"], stored["y"]
    expected = (x.astype(np.float32) @ W + B)[:, 0] > np.log(0.3 / 0.7)
    assert np.mean(expected == y) == pytest.approx(found["accuracy"], abs=1e-3)
    assert predictions(out, rows) == [str(int(v)) for v in expected]
    session = Session(out)
    assert [session.evaluate(row).prediction for row in x[:50]] == expected[:50].tolist()
    assert document("guarantee", out, "--data", rows, "--resplits", "10")["rows"] == int(
        np.sum(expected == y)
    )
    assert document("verify", out, "--data", rows)["mismatches"] == 0
    assert f"above {above:g}" in edgemon("inspect", out).stdout
    assert f"above {above:.4g}" in (out / "report.html").read_text()


def test_where_a_logit_decides_its_scores_are_most_suspicious(rows: Path, tmp_path: Path) -> None:
    """The margin of a logit was counted from one half: rows between 0 and one half were of one
    class for the model and of the other for its monitors."""
    found = compiled(linear(tmp_path / "z.onnx"), rows, tmp_path / "b")
    assert found["monitors"][0]["name"] == "msp_t"
    listed = document("run", tmp_path / "b", "--data", rows)["rows"]
    with np.load(rows) as stored:
        margin = np.abs((stored["x"].astype(np.float32) @ W + B)[:, 0])
    alarmed = np.array([r["monitors"]["msp_t"] != "trust" for r in listed])
    assert alarmed.any()
    assert margin[alarmed].max() <= margin[~alarmed].min()


def test_the_terminal_says_where_one_unit_decides(rows: Path, tmp_path: Path) -> None:
    common = ("--data", rows, "--monitor", "msp_t")
    result = edgemon("compile", linear(tmp_path / "z.onnx"), *common, "--out", tmp_path / "z")
    assert "one output unit: class 1 where it is above 0, else class 0" in result.stdout
    assert "taken for a logit" in result.stdout
    narrow = linear(tmp_path / "n.onnx", "", W / 100, np.array([0.5]))
    result = edgemon("compile", narrow, *common, "--out", tmp_path / "n")
    assert "above 0.5, else class 0" in result.stdout
    assert "taken for a probability" in result.stdout


def test_values_that_the_first_rows_did_not_show_are_an_error(rows: Path, tmp_path: Path) -> None:
    with np.load(rows) as stored:
        x, y = np.repeat(stored["x"], 3, axis=0) / 100, np.repeat(stored["y"], 3)
    x += np.random.default_rng(1).normal(0, 1e-6, x.shape).astype(np.float32)
    model = linear(tmp_path / "n.onnx", "", W, np.array([0.5]))
    x[7] *= 100 * 8 / max(1e-9, float(np.abs(x[7] * 100 @ W).max()))
    np.savez(tmp_path / "d.npz", x=x, y=y)
    message = refused(
        "compile", model, "--data", tmp_path / "d.npz", "--monitor", "msp_t",
        "--out", tmp_path / "b",
    )  # fmt: skip
    assert "on further rows it gives values outside 0 to 1" in message


def test_of_several_outputs_the_largest_decides(tmp_path: Path) -> None:
    model = linear(tmp_path / "m.onnx", "", np.hstack([W, -W]), np.zeros(2))
    np.savez(tmp_path / "d.npz", x=np.arange(300.0).reshape(100, 3), y=np.arange(100) % 2)
    common = ("compile", model, "--data", tmp_path / "d.npz", "--out", tmp_path / "b")
    assert "one output unit" in refused(*common, "--decision-threshold", "0.3")
    assert "finite" in refused(*common, "--decision-threshold", "nan")


def test_a_manifest_states_no_decision_of_several_outputs(digits_bundle: Path) -> None:
    assert json.loads((digits_bundle / "manifest.json").read_text())["decision"] is None
