"""``edgemon trust`` on models and bundles."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.command_line import document, edgemon, refused
from tests.conftest import DEMO

MODEL, DATA = DEMO / "digits_int8.tflite", DEMO / "digits.npz"


def test_a_model_and_its_bundle_agree_and_monitors_raise_what_passes(
    digits_bundle: Path, tmp_path: Path
) -> None:
    page = tmp_path / "trust.html"
    both = document("trust", MODEL, digits_bundle, "--data", DATA, "--html", page)
    model, bundle = both["models"]
    assert both["net_trust_score"] == model["net_trust_score"]
    assert model["accuracy"] == bundle["accuracy"]
    assert model["monitored"] is None
    monitored = bundle["monitored"]
    assert monitored["accuracy"] > bundle["accuracy"]
    assert monitored["stopped_wrong"] > monitored["stopped_right"]
    assert {s["class"] for s in both["spectrum"]} == {str(i) for i in range(8)}
    assert sum(s["rows"] for s in both["spectrum"]) == both["rows"]
    text = page.read_text()
    assert "https://" not in text.replace("http://www.w3.org", "")
    assert text.count("<svg") == 6
    examples = both["examples"]
    assert 0 < len(examples) <= 8
    assert len({e["class"] for e in examples}) == len(examples)
    assert text.count("<img") == text.count("data:image/png") == 2 * len(examples)
    with np.load(DATA) as arrays:
        for e in examples:
            assert str(arrays["y"][e["row"]]) == e["class"] != e["answered"]


def test_private_rows_are_neither_shown_nor_named(tmp_path: Path) -> None:
    page = tmp_path / "trust.html"
    found = document("trust", MODEL, "--data", DATA, "--html", page, "--no-examples")
    assert found["examples"] == []
    assert "<img" not in page.read_text()
    plain = document("trust", MODEL, "--data", DATA)["examples"]  # nor shown where there is no page
    assert plain
    assert {e["image"] for e in plain} == {None}


def test_scenarios_by_answer_are_other_rows() -> None:
    by_label = document("trust", MODEL, "--data", DATA)
    by_answer = document("trust", MODEL, "--data", DATA, "--scenario", "predicted")
    assert by_label["net_trust_score"] == by_answer["net_trust_score"]
    assert [s["rows"] for s in by_label["spectrum"]] != [s["rows"] for s in by_answer["spectrum"]]


def test_a_requirement_that_is_missed_has_its_exit_code() -> None:
    given = ("trust", MODEL, "--data", DATA)
    kept = edgemon(*given, "--require", "net_trust>=0.5,ece<=0.5")
    assert kept.exit_code == 0, kept.stderr
    missed = edgemon(*given, "--require", "net_trust>=0.9999")
    assert missed.exit_code == 3
    assert "net_trust is 0." in missed.stderr
    assert "is not measured here" in refused(*given, "--require", "trust>=1")


def test_the_mistakes_that_people_make(tmp_path: Path) -> None:
    unlabelled = tmp_path / "x.npz"
    with np.load(DATA) as arrays:
        np.savez(unlabelled, x=arrays["x"][:50])
    assert "has no labels" in refused("trust", MODEL, "--data", unlabelled)
    assert "true or predicted" in refused("trust", MODEL, "--data", DATA, "--scenario", "label")
    assert "give a positive number" in refused("trust", MODEL, "--data", DATA, "--alpha", "0")
    assert "data or uniform" in refused("trust", MODEL, "--data", DATA, "--prior", "equal")
    assert "does not exist" in refused("trust", tmp_path / "none.tflite", "--data", DATA)


def test_resnet8_is_trusted_as_much_as_was_measured_elsewhere(shared: Path) -> None:
    images = shared / "data" / "images"
    found = document(
        "trust", images / "models" / "mlperf_tiny_resnet8_float.tflite", "--data",
        images / "cifar10_test.npz",
    )  # fmt: skip
    assert found["net_trust_score"] == pytest.approx(0.8571, abs=1e-4)
    assert found["accuracy"] == pytest.approx(0.8719, abs=1e-4)
    assert found["confidence_right"] == pytest.approx(0.9388, abs=1e-4)
    assert found["confidence_wrong"] == pytest.approx(0.6989, abs=1e-4)
    trust = {s["class"]: s["trust"] for s in found["spectrum"]}
    assert (min(trust, key=trust.__getitem__), max(trust, key=trust.__getitem__)) == ("3", "1")
    assert trust["3"] == pytest.approx(0.714, abs=5e-4)
    assert trust["1"] == pytest.approx(0.944, abs=5e-4)
