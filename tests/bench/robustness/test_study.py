"""``edgemon robustness`` on the demonstration's digits, and on real ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.command_line import copy, document, edgemon, refused
from tests.conftest import DEMO

MODEL, DATA = DEMO / "digits_int8.tflite", DEMO / "digits.npz"
FEW = ("--rows", "20", "--pairs", "20", "--full-scale", "16")
TWO = ("--properties", "rotation=20,noise=0.3")


def test_a_bundle_says_what_breaks_and_what_its_monitors_catch(
    digits_bundle: Path, tmp_path: Path
) -> None:
    page = tmp_path / "r.html"
    found = document("robustness", digits_bundle, "--data", DATA, *FEW, *TWO, "--html", page)
    assert found["sampled"] == 160
    assert found["combine"] == "add"
    means = [line for line in found["local"] if line["class"] is None]
    assert [(m["property"], m["value"]) for m in means] == [("rotation", 20), ("noise", 0.3)]
    for mean in means:
        own = [
            line["rate"] for line in found["local"]
            if line["class"] is not None and line["property"] == mean["property"]
        ]  # fmt: skip
        assert mean["rate"] == pytest.approx(np.mean(own))
        assert mean["low"] <= mean["rate"] <= mean["high"]
        assert min(own) <= mean["weighted"] <= max(own)
    for together in found["global"]:
        assert together["rate"] == pytest.approx(
            together["product"] + together["excess"], abs=1e-12
        )
        assert 0 <= together["masked"] <= together["rate"]
    for caught in found["caught"]:
        assert caught["broken"] > 0
        assert caught["caught"] > caught["alarms_on_right"]
    assert found["errors"][0]["rank"] >= found["errors"][-1]["rank"]
    text = page.read_text()
    assert "What the monitors catch" in text
    assert "https://" not in text
    assert {e["property"] for e in found["examples"]} == {"rotation", "noise"}
    assert text.count("data:image/png") == len(found["examples"]) <= 24
    for e in found["examples"]:
        assert e["class"] != e["answered"]
        assert 0 < e["confidence"] <= 1
    clean = found["as_they_are"]
    assert clean["right"] + clean["wrong"] == found["rows"]
    assert clean["caught"] > clean["alarms_on_right"]


def test_bundles_lie_side_by_side(digits_bundle: Path, tmp_path: Path) -> None:
    page, other = tmp_path / "r.html", copy(digits_bundle, tmp_path / "other")
    given = ("--data", DATA, *FEW, "--properties", "rotation=20", "--no-examples")
    result = edgemon("robustness", digits_bundle, other, *given, "--html", page)
    assert result.exit_code == 0, result.stderr
    assert "caught, digits" in result.stdout
    assert "alarms on right, other" in result.stdout
    assert page.read_text().count("What breaks") == 2
    assert "<img" not in page.read_text()
    both = document("robustness", digits_bundle, MODEL, *given)
    assert [m["name"] for m in both["models"]] == ["digits", "digits_int8"]
    assert both["models"][1]["caught"] is None
    assert both["examples"] == []


def test_a_run_that_was_stopped_goes_on(tmp_path: Path) -> None:
    given = ("robustness", MODEL, "--data", DATA, *FEW, "--resume", tmp_path / "kept")
    first = document(*given, "--properties", "rotation=20")
    files = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "kept").iterdir()}
    assert len(files) == 2
    more = document(*given, *TWO)
    after = {p.name: p.stat().st_mtime_ns for p in (tmp_path / "kept").iterdir()}
    assert len(after) == 3
    assert files.items() <= after.items()
    assert more["global"][0] == first["global"][0]
    for path in (tmp_path / "kept").iterdir():  # as a crash leaves them
        path.write_bytes(path.read_bytes()[:40])
    assert document(*given, *TWO) == more
    plain = document("robustness", MODEL, "--data", DATA, *FEW, *TWO)
    assert plain == more


def test_a_requirement_that_is_missed_has_its_exit_code() -> None:
    given = ("robustness", MODEL, "--data", DATA, *FEW, "--properties", "brightness=1")
    kept = edgemon(*given, "--require", "robust(brightness=1)>=1,robust_class(brightness=1)>=1")
    assert kept.exit_code == 0, kept.stderr
    whole = edgemon(*given, "--require", "net_trust>=0.5,robust(brightness=1)>=0.8")
    assert whole.exit_code == 0, whole.stderr
    missed = edgemon(*given, "--require", "global(brightness=1)<=0.5")
    assert missed.exit_code == 3
    assert "is 1, and must be <= 0.5" in missed.stderr
    said = refused(*given, "--require", "robust(noise=1)>=0.5")
    assert "robust(noise=1): is not measured here; did you mean 'robust(brightness=1)'?" in said
    assert "There are accuracy, brier" in said


def test_the_mistakes_that_people_make(tmp_path: Path) -> None:
    table = tmp_path / "t.npz"
    np.savez(table, x=np.zeros((20, 64), np.float32), y=np.zeros(20, int))
    assert "images of bytes" in refused("robustness", MODEL, "--data", table)
    np.savez(table, x=np.zeros((20, 8, 8), np.uint8))
    assert "has no labels" in refused("robustness", MODEL, "--data", table)
    assert "no property 'rain'" in refused(
        "robustness", MODEL, "--data", DATA, "--properties", "rain"
    )


def test_mnist_breaks_where_it_was_measured_elsewhere(shared: Path) -> None:
    images = shared / "data" / "images"
    found = document(
        "robustness", images / "models" / "mnist_edgeairtt.tflite", "--data",
        images / "mnist_test.npz", "--preprocess", "scale=1/255", "--properties",
        "noise=0.3,rotation=-30,rotation=30,brightness=0.5",
    )  # fmt: skip
    assert found["accuracy"] == pytest.approx(0.9651, abs=1e-4)
    means = {(m["property"], m["value"]): m["rate"] for m in found["local"] if m["class"] is None}
    for key, rate in {
        ("noise", 0.3): 0.9725, ("rotation", -30): 0.7035, ("rotation", 30): 0.7520,
        ("brightness", 0.5): 0.978,
    }.items():  # fmt: skip
        assert means[key] == pytest.approx(rate, abs=0.01)
    worst = min(
        (m for m in found["local"] if m["class"] and m["value"] == -30), key=lambda m: m["rate"]
    )
    assert (worst["class"], worst["rate"]) == ("4", pytest.approx(0.5, abs=0.02))
    together = {(m["property"], m["value"]): m for m in found["global"]}
    assert together["noise", 0.3]["adds_nothing"]
    assert together["rotation", -30]["product"] == pytest.approx(0.4949, abs=0.01)
    assert together["rotation", -30]["masked"] == pytest.approx(0.0067, abs=0.002)
    assert together["rotation", 30]["rate"] == pytest.approx(0.5675, abs=0.015)
