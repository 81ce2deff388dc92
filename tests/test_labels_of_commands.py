"""Labels that come otherwise than the model's author had them: what commands make of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgemon.runtime.session import Session
from tests.command_line import document, edgemon, refused
from tests.digit_photos import NAMES, write_digits_onnx, write_folders
from tests.tiny_onnx import write_linear_onnx

COMMON = ("--preprocess", "scale=1/255", "--monitor", "msp_t")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_digits_onnx(tmp_path_factory.mktemp("model") / "digits.onnx")


@pytest.fixture(scope="module")
def named(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of ten class folders, beside them."""
    folder = tmp_path_factory.mktemp("named")
    photos = write_folders(folder / "photos", NAMES, rows=1397)
    document("compile", model, "--data", photos, *COMMON, "--out", folder / "b")
    return folder


def test_a_missing_class_folder_does_not_shift_the_others(model: Path, tmp_path: Path) -> None:
    photos = write_folders(tmp_path / "photos", tuple("" if n == "elder" else n for n in NAMES))
    common = ("compile", model, "--data", photos, *COMMON)
    message = refused(*common, "--out", tmp_path / "b")
    assert "9 words" in message
    assert "--classes" in message
    result = edgemon(*common, "--classes", ",".join(NAMES), "--out", tmp_path / "b")
    assert result.exit_code == 0, result.stderr
    assert "no row in the data: elder" in result.stderr
    found = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert found["accuracy"] > 0.85
    assert found["options"]["classes"] == list(NAMES)
    assert Session(tmp_path / "b").labels == NAMES


@pytest.mark.parametrize("order", ["numeric", "string"])
def test_class_folders_from_1_to_10_are_ten_classes(
    order: str, model: Path, tmp_path: Path
) -> None:
    numbers = sorted(range(1, 11), key=str if order == "string" else int)
    names = tuple(str(v) for v in numbers)
    photos = write_folders(tmp_path / "photos", names)
    common = ("compile", model, "--data", photos, *COMMON, "--label-order", order)
    found = document(*common, "--out", tmp_path / "b")
    assert found["accuracy"] > 0.85
    assert Session(tmp_path / "b").labels == names
    assert Session(tmp_path / "b").label_values == tuple(numbers)
    rows = document("run", tmp_path / "b", "--data", photos)["rows"]
    assert np.mean([r["correct"] for r in rows]) == pytest.approx(found["accuracy"])


def test_run_and_guarantee_know_the_bundles_classes(named: Path, tmp_path: Path) -> None:
    """Data that lacks folders was numbered by those that it has."""
    some = tmp_path / "some"
    for name in NAMES[3:]:
        shutil.copytree(named / "photos" / name, some / name)
    rows = document("run", named / "b", "--data", some)["rows"]
    right = np.mean([r["correct"] for r in rows])
    assert right > 0.85
    found = document("guarantee", named / "b", "--data", some, "--resplits", "10")
    assert found["rows"] == sum(r["correct"] for r in rows)
    (some / "zebra").mkdir()
    shutil.copy(next((some / "date").iterdir()), some / "zebra" / "z.png")
    rows = document("run", named / "b", "--data", some)["rows"]
    assert [r["known"] for r in rows if r["label"] == "zebra"] == [False]
    message = refused("guarantee", named / "b", "--data", some)
    assert "label 'zebra'" in message
    assert "has 10, apple, bean" in message


def test_numbers_are_positions_among_the_names(named: Path, tmp_path: Path) -> None:
    """The same rows with numbers in an .npz: they are shown with their names."""
    x = np.zeros((3, 8, 8, 1), np.uint8)
    np.savez(tmp_path / "d.npz", x=x, y=[9, 0, 4])
    rows = document("run", named / "b", "--data", tmp_path / "d.npz")["rows"]
    assert [r["label"] for r in rows] == ["juniper", "apple", "elder"]
    assert [r["correct"] for r in rows] == [r["label"] == r["prediction"] for r in rows]


def test_a_list_of_classes_that_is_too_short_is_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "c.txt").write_text("\n".join(NAMES[:9]))
    np.savez(tmp_path / "d.npz", x=np.arange(30 * 64).reshape(30, 8, 8, 1), y=np.arange(30) % 9)
    message = refused(
        "compile", model, "--data", tmp_path / "d.npz", "--classes", tmp_path / "c.txt",
        "--out", tmp_path / "b",
    )  # fmt: skip
    assert "names 9 classes" in message
    assert "the model has 10" in message


def test_grey_photos_alone_run_in_a_bundle_of_colours(tmp_path: Path) -> None:
    model = write_digits_onnx(tmp_path / "colour.onnx", channels=3)
    photos = write_folders(tmp_path / "photos", NAMES)
    out = tmp_path / "b"
    assert document("compile", model, "--data", photos, *COMMON, "--out", out)["accuracy"] > 0.85
    some = tmp_path / "some"
    shutil.copytree(photos / "corn", some)
    found = document("run", out, "--data", some)["summary"]["verdicts"]
    assert sum(found.values()) == len(list(some.iterdir()))
    assert "fault" not in found


def test_a_turned_photo_is_said_and_a_bundle_keeps_what_was_chosen(
    named: Path, model: Path, tmp_path: Path
) -> None:
    (tmp_path / "d").mkdir()
    upright = Image.open(next((named / "photos" / "corn").iterdir()))
    upright.save(tmp_path / "d" / "0.png")
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by a quarter to the right
    upright.transpose(Image.Transpose.ROTATE_90).save(tmp_path / "d" / "1.png", exif=exif)
    result = edgemon("run", named / "b", "--data", tmp_path / "d")
    assert "1 of 2 images say by EXIF that they are to be turned" in result.stderr
    applied = tmp_path / "b"
    document(
        "compile", model, "--data", named / "photos", *COMMON, "--exif", "apply", "--out", applied
    )
    result = edgemon("run", applied, "--data", tmp_path / "d", "--json")
    assert "EXIF" not in result.stderr
    one, other = json.loads(result.stdout)["rows"]
    assert {**one, "row": 1} == other


def test_a_feature_called_y_stays_a_feature_in_a_file_without_labels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 3)).round(3)
    w = rng.normal(size=(3, 3))
    label = (x @ w + rng.gumbel(size=(600, 3)) / 3).argmax(axis=1)
    model = write_linear_onnx(tmp_path / "m.onnx", (3,), w, np.zeros(3))
    lines = [",".join(map(str, row)) for row in x.tolist()]
    labelled = "\n".join(["x,y,z,label", *(f"{v},{c}" for v, c in zip(lines, label, strict=True))])
    (tmp_path / "d.csv").write_text(labelled)
    (tmp_path / "new.csv").write_text("\n".join(["x,y,z", *lines]))
    (tmp_path / "turned.csv").write_text(
        "\n".join(["z,y,x", *(",".join(v.split(",")[::-1]) for v in lines)])
    )
    found = document(
        "compile", model, "--data", tmp_path / "d.csv", "--label-column", "label",
        "--monitor", "msp_t", "--out", tmp_path / "b",
    )  # fmt: skip
    assert found["features"] == ["x", "y", "z"]
    rows = document("run", tmp_path / "b", "--data", tmp_path / "new.csv")["rows"]
    assert len(rows) == 600
    assert "label" not in rows[0]
    assert document("run", tmp_path / "b", "--data", tmp_path / "turned.csv")["rows"] == rows
    with_label = document("run", tmp_path / "b", "--data", tmp_path / "d.csv")["rows"]
    assert [r["prediction"] for r in with_label] == [r["prediction"] for r in rows]
    assert with_label[0]["label"] == int(label[0])
