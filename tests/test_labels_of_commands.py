"""Labels that come otherwise than the model's author had them: what commands make of them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from edgemon.runtime.session import Session
from tests.command_line import document, edgemon, refused
from tests.digit_photos import NAMES, write_digits_onnx, write_folders

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
