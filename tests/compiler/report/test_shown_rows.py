"""The rows that reports of whole compiles show; private ones stay so."""

from __future__ import annotations

import csv
import json
import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

import edgemon
from edgemon.compiler.commands.root import app
from edgemon.compiler.report.pictures import PREFIX
from edgemon.runtime.preprocess import Preprocess
from tests import tiny_onnx
from tests.conftest import DEMO

DIGITS = DEMO / "digits_int8.tflite", DEMO / "digits.npz"


def compiled(out: Path, *options: str) -> dict[str, Any]:
    """The report of digits, where the command line makes it."""
    model, data = DIGITS
    arguments = [
        "compile", str(model), "--data", str(data), "--out", str(out), "--monitor", "softmax",
        "--drift-run-length", "0", *options,
    ]  # fmt: skip
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads((out / "report.json").read_text())
    return found


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("shown") / "b"
    compiled(out)
    return out


def test_the_same_compile_gives_the_same_report(shown: Path, tmp_path: Path) -> None:
    compiled(tmp_path / "b")
    for name in ("report.json", "report.html"):
        assert (tmp_path / "b" / name).read_bytes() == (shown / name).read_bytes()


def test_the_manifest_holds_no_picture(shown: Path) -> None:
    assert PREFIX not in (shown / "manifest.json").read_text()
    assert PREFIX in (shown / "report.json").read_text()
    page = (shown / "report.html").read_text()
    report = json.loads((shown / "report.json").read_text())
    for row in (*report["examples"]["rows"], *report["seen"]["first_rows"]):
        assert page.count(row["image"]) >= 1
    assert {t["flags"] for t in report["input"]["tried"]} > {"", "--preprocess scale=1/255"}
    assert "--preprocess scale=1/255" in page


def test_no_examples_leaves_nothing_of_a_row(tmp_path: Path) -> None:
    report = compiled(tmp_path / "b", "--no-examples")
    page = (tmp_path / "b" / "report.html").read_text()
    assert report["examples"]["left_out"]
    assert report["examples"]["rows"] == report["examples"]["groups"] == []
    assert report["seen"]["first_rows"] == []
    assert report["options"]["examples"] is False
    assert "data:" not in page
    assert PREFIX not in json.dumps(report)
    assert "<code>--no-examples</code>. No row is on this page" in page


def private_table(folder: Path) -> Path:
    """Two classes by the sum of two columns whose values are like nothing else on a page."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(900, 2)) * 3.0 + 0.123456789
    y = (x[:, 0] - x[:, 1] + rng.logistic(size=900) > 0).astype(int)
    path = folder / "private.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["secretive", "b", "label"])
        for (a, b), label in zip(x.tolist(), y.tolist(), strict=True):
            writer.writerow([repr(a), repr(b), label])
    return path


def four_digits(path: Path) -> set[str]:
    with path.open(newline="") as file:
        rows = [*csv.reader(file)][1:]
    return {f"{float(v):.4g}" for row in rows for v in row[:2]}


@pytest.mark.parametrize("kept", [True, False])
def test_no_value_of_a_private_table_is_in_the_report(kept: bool, tmp_path: Path) -> None:
    """Through Python; with examples, to show that the test finds them."""
    data = private_table(tmp_path)
    model = tiny_onnx.write_unit_onnx(tmp_path / "u.onnx")
    bundle = edgemon.compile(
        str(model), str(data), monitor="softmax", drift_run_length=0, examples=kept
    )
    report, page = json.loads((bundle._folder / "report.json").read_text()), bundle.report()
    assert report["examples"]["kind"] == "table"
    parts = json.dumps([report["examples"], report["seen"]])
    values = four_digits(data)
    rounded = {f"{float(v):.4g}" for v in re.findall(r"-?\d+\.\d+", parts)}
    assert bool(values & rounded) is kept
    assert ("<b>secretive</b>" in page) is kept
    assert report["examples"]["left_out"] is not kept


def test_names_of_image_files_are_shown_and_left_out(tmp_path: Path) -> None:
    with np.load(DIGITS[1]) as stored:
        x, y = stored["x"][:900], stored["y"][:900]
    for i, (image, label) in enumerate(zip(x, y, strict=True)):
        folder = tmp_path / "images" / str(label)
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.squeeze(image)).save(folder / f"person <b>{i:04d}.png")
    for options, there in (((), True), (("--no-examples",), False)):
        out = tmp_path / f"b{there}"
        result = CliRunner().invoke(app, [
            "compile", str(DIGITS[0]), "--data", str(tmp_path / "images"), "--out", str(out),
            "--monitor", "softmax", "--drift-run-length", "0", *options,
        ])  # fmt: skip
        assert result.exit_code == 0, result.output
        page, text = (out / "report.html").read_text(), (out / "report.json").read_text()
        assert ("person" in text) is there
        assert ("person &lt;b&gt;" in page) is there
        assert "person <b>" not in page
        classes = sorted((tmp_path / "images").iterdir())
        listing = [p for folder in classes for p in sorted(folder.iterdir())]
        for row in json.loads(text)["examples"]["rows"]:
            assert listing[row["row"]] == tmp_path / "images" / row["file"]
            assert Path(row["file"]).parent.name == row["label"]


def test_the_key_stands_in_edgemon_toml(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "edgemon.toml").write_text("[compile]\nno-examples = true\n")
    monkeypatch.chdir(tmp_path)
    assert compiled(tmp_path / "b")["examples"]["left_out"]


def test_the_next_steps_run_as_they_stand(
    shown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bundle = tmp_path / "b"
    shutil.copytree(shown, bundle)
    page = (bundle / "report.html").read_text()
    (block,) = re.findall(r"<pre>(.*?)</pre>", page, re.DOTALL)
    steps = [shlex.split(line, comments=True) for line in block.splitlines()]
    assert [step[:2] for step in steps] == [["edgemon", n] for n in ("run", "verify", "bench")]
    monkeypatch.chdir(bundle)
    for step in steps:
        given = [f"{DIGITS[1].resolve()}[0:60]" if word == "ROWS" else word for word in step[1:]]
        result = CliRunner().invoke(app, given)
        assert result.exit_code == 0, result.output


def test_a_report_of_an_older_compile_is_read(shown: Path, tmp_path: Path) -> None:
    """Which has neither rows nor what was tried."""
    old = tmp_path / "old"
    shutil.copytree(shown, old)
    report = json.loads((old / "report.json").read_text())
    del report["examples"], report["seen"], report["input"]["tried"]
    (old / "report.json").write_text(json.dumps(report))
    assert edgemon.load(old).operating_points() == edgemon.load(shown).operating_points()
    assert Preprocess.from_json(report["options"]["preprocess"]) == Preprocess()
