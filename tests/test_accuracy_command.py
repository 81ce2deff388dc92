"""``edgemon accuracy``: fit, estimate, label and update, as a user goes through them."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle.keys import create
from tests.command_line import document, edgemon, refused
from tests.conftest import DEMO

SMALL = ("--members", "2", "--epochs", "3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A bundle of the demonstration with what it learned, and rows of the field: others of the same
    model, as they are and darkened."""
    folder = tmp_path_factory.mktemp("accuracy")
    with np.load(DEMO / "digits.npz") as digits:
        x, y = digits["x"], digits["y"]
    np.savez(folder / "reference.npz", x=x[:900], y=y[:900])
    np.savez(folder / "field.npz", x=x[900:], y=y[900:])
    np.savez(folder / "dark.npz", x=(x[900:] // 6).astype(x.dtype), y=y[900:])
    np.savez(folder / "unlabelled.npz", x=x[900:])
    document(
        "compile", DEMO / "digits_int8.tflite", "--data", DEMO / "digits.npz", "--monitor", "msp_t",
        "--out", folder / "plain",
    )  # fmt: skip
    shutil.copytree(folder / "plain", folder / "bundle")
    found = document(
        "accuracy", "fit", folder / "bundle", "--data", folder / "reference.npz", *SMALL
    )
    assert found["proof"]["mismatches"] == 0
    assert found["rows"] == 900
    return folder


@pytest.fixture
def bundle(folder: Path, tmp_path: Path) -> Path:
    """One to change."""
    shutil.copytree(folder / "bundle", tmp_path / "bundle")
    return tmp_path / "bundle"


def test_fit_writes_into_a_bundle_that_stays_whole(folder: Path) -> None:
    before, after = Bundle.open(folder / "plain"), Bundle.open(folder / "bundle")
    after.require_intact()
    assert before.artifact.accuracy is None
    assert after.artifact.accuracy is not None
    assert after.manifest["accuracy_fit"]["members"] == 2
    assert after.manifest["accuracy_fit"]["artifact_bytes"] == len(after.artifact_bytes) - len(
        before.artifact_bytes
    )
    assert document("verify", folder / "bundle")["mismatches"] == 0
    assert before.manifest["accuracy_fit"] is None


def test_rows_like_the_reference_need_no_labels(folder: Path) -> None:
    found = document("accuracy", "estimate", folder / "bundle", "--data", folder / "field.npz")
    assert found["flag"] is False
    best = found["methods"][0]
    assert best["name"] == "calibrated_score"
    assert best["low"] <= found["truth"] <= best["high"]
    assert {"mp", "mp_star", "ensemble", "doc"} <= {m["name"] for m in found["methods"]}


def test_shifted_rows_without_labels_get_a_flag_and_no_number(folder: Path) -> None:
    given = ("accuracy", "estimate", folder / "bundle", "--data", folder / "dark.npz")
    for options in ((), ("--labels", "0")):
        found = document(*given, *options)
        assert found["flag"] is True
        for method in found["methods"]:
            assert method["estimate"] is method["low"] is method["high"] is None
    shown = edgemon(*given)
    assert "shift: the scores of these rows are unlike" in shown.stderr
    assert "not known without labels" in shown.stdout
    assert "edgemon accuracy label" in shown.stdout
    forced = document(*given, "--untrusted")
    assert all(method["estimate"] is not None for method in forced["methods"])


def test_random_labels_come_first_and_hold_the_truth(folder: Path) -> None:
    found = document(
        "accuracy", "estimate", folder / "bundle", "--data", folder / "dark.npz", "--labels", "200"
    )
    best = found["methods"][0]
    assert (best["name"], best["labels"]) == ("prediction_powered", 200)
    assert best["low"] <= found["truth"] <= best["high"]
    by_name = {m["name"]: m for m in found["methods"]}
    assert by_name["ensemble_transfer"]["labels"] == 200
    assert by_name["ensemble_transfer"]["low"] is None
    assert by_name["mp"]["estimate"] is None  # a flag is up


def test_labels_of_people_go_into_the_bundle_and_are_used(folder: Path, bundle: Path) -> None:
    data, out = folder / "dark.npz", bundle.parent / "labels.csv"
    chosen = document(
        "accuracy", "label", bundle, "--data", folder / "unlabelled.npz", "--rows", "10%",
        "--out", out,
    )  # fmt: skip
    with np.load(data) as arrays:
        truth = arrays["y"]
    with out.open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert [int(line["row"]) for line in lines] == chosen["rows"]
    for line in lines:
        line["label"] = str(truth[int(line["row"])])
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, lines[0])
        writer.writeheader()
        writer.writerows(lines)
    kept = document("accuracy", "update", bundle, "--data", data, "--labelled", out)
    assert kept == {"labels": len(lines), "right": kept["right"], "replaced": False}
    Bundle.open(bundle).require_intact()
    found = document("accuracy", "estimate", bundle, "--data", data)
    assert found["methods"][0]["name"] == "prediction_powered"
    assert found["methods"][0]["labels"] == len(lines)
    direct = document("accuracy", "estimate", bundle, "--data", data, "--labelled", out)
    assert direct["methods"][0] == found["methods"][0]
    other = document("accuracy", "estimate", bundle, "--data", folder / "field.npz")
    assert other["methods"][0]["labels"] == 0  # they are labels of other rows
    again = edgemon("accuracy", "update", bundle, "--data", data, "--labelled", out)
    assert "earlier labels of these rows are replaced" in again.stderr


def test_a_folder_shows_the_images_to_label(folder: Path, bundle: Path) -> None:
    out = bundle.parent / "to_label"
    found = document(
        "accuracy", "label", bundle, "--data", folder / "unlabelled.npz", "--rows", "3", "--out",
        out, "--choose", "stratified",
    )  # fmt: skip
    assert len(found["rows"]) == 3
    page = (out / "label.html").read_text()
    for row in found["rows"]:
        with Image.open(out / f"{row}.png") as image:
            assert min(image.size) >= 96
        assert f'src="{row}.png"' in page
    assert "stratified" in (out / "labels.csv").read_text()
    assert "https://" not in page


def test_labels_by_entropy_feed_the_published_method_alone(folder: Path, bundle: Path) -> None:
    out = bundle.parent / "labels.csv"
    found = document(
        "accuracy", "label", bundle, "--data", folder / "field.npz", "--rows", "20", "--choose",
        "most-entropy", "--out", out,
    )  # fmt: skip
    text = out.read_text().replace(",,most", ",0,most")
    out.write_text(text)
    assert len(found["rows"]) == 20
    told = document(
        "accuracy", "estimate", bundle, "--data", folder / "field.npz", "--labelled", out
    )
    names = [m["name"] for m in told["methods"]]
    assert "ensemble_transfer" in names
    assert "prediction_powered" not in names


def test_a_folder_for_rows_that_are_no_images_is_refused_and_not_made(
    bundle: Path, folder: Path
) -> None:
    floats, out = bundle.parent / "floats.npz", bundle.parent / "to_label"
    with np.load(folder / "unlabelled.npz") as arrays:
        np.savez(floats, x=arrays["x"][:40].astype(np.float32))
    given = ("accuracy", "label", bundle, "--data", floats, "--rows", "5")
    assert "--out labels.csv" in refused(*given, "--out", out)
    assert not out.exists()
    assert document(*given, "--out", bundle.parent / "labels.csv")["rows"]


def test_a_signed_bundle_must_be_signed_again(bundle: Path, folder: Path) -> None:
    key = bundle.parent / "key.pem"
    create(key)
    document("sign", bundle, "--key", key)
    done = edgemon("accuracy", "fit", bundle, "--data", folder / "reference.npz", "--members", "0")
    assert done.exit_code == 0, done.stderr
    assert "sign it again" in done.stderr
    assert not list(bundle.glob("*.sig"))
    assert document("sign", bundle, "--key", key)["bundle"]


def test_the_mistakes_that_people_make(folder: Path, bundle: Path) -> None:
    plain, field = folder / "plain", folder / "field.npz"
    assert "fit it on labelled rows" in refused("accuracy", "estimate", plain, "--data", field)
    said = refused("accuracy", "fit", bundle, "--data", folder / "unlabelled.npz")
    assert "has no labels" in said
    said = refused(
        "accuracy", "estimate", bundle, "--data", folder / "unlabelled.npz", "--labels", "50"
    )
    assert "edgemon accuracy label" in said
    given = ("accuracy", "estimate", bundle, "--data", field)
    assert "is no number of rows" in refused(*given, "--labels", "some")
    assert "give one of the two" in refused(*given, "--labels", "5", "--labelled", field)
    said = refused("accuracy", "label", bundle, "--data", field, "--choose", "best")
    assert "random or stratified or most-entropy" in said
    taken = bundle.parent / "labels.csv"
    taken.write_text("mine")
    assert "exists" in refused("accuracy", "label", bundle, "--data", field, "--out", taken)
    assert taken.read_text() == "mine"
    few = bundle.parent / "few.npz"
    with np.load(folder / "reference.npz") as arrays:
        np.savez(few, x=arrays["x"][:20], y=arrays["y"][:20])
    before = (bundle / "monitor.emon").read_bytes()
    refused("accuracy", "fit", bundle, "--data", few, "--members", "0")
    assert (bundle / "monitor.emon").read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b"PK\x05\x06" + bytes(18), b"\x93NUMPY"])
def test_a_damaged_file_is_one_sentence(damage: bytes, bundle: Path, folder: Path) -> None:
    (bundle / "accuracy.npz").write_bytes(damage)
    given = ("accuracy", "estimate", bundle, "--data", folder / "field.npz")
    assert "its SHA-256 differs" in refused(*given, code=9)
    manifest = json.loads((bundle / "manifest.json").read_text())
    import hashlib

    manifest["sha256"]["accuracy.npz"] = hashlib.sha256(damage).hexdigest()
    (bundle / "manifest.json").write_text(json.dumps(manifest))
    assert "accuracy.npz" in refused(*given)
