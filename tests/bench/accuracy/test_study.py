"""The study of accuracy estimates, small, on the demonstration's model."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemon.bench.accuracy.spec import read
from edgemon.runtime.errors import EdgemonError
from tests.command_line import document, refused
from tests.conftest import DEMO, ROOT

CASE = f"""
[[case]]
name = "digits"
model = "{DEMO / "digits_int8.tflite"}"
fit = "digits.npz[0:500]"
calibrate = "digits.npz[500:900]"
test = "digits.npz[900:1200]"
reference = "digits.npz[500:900]"
rows = "digits.npz[900:1390]"
faults = ["rotation:1-2", "contrast:5"]
surrogate = "digits.npz[0:500]"
attack = 1
[[case.set]]
name = "some classes"
data = "digits.npz[900:1390]"
relabel = {{ "3" = 3, "5" = 5 }}
"""


def test_a_small_study_has_every_set_and_every_method(tmp_path: Path) -> None:
    spec, chart = tmp_path / "s.toml", tmp_path / "c.svg"
    spec.write_text(CASE)
    given = (
        "accuracy-study", spec, "--root", DEMO, "--members", "1", "--epochs", "2", "--draws", "30",
    )  # fmt: skip
    found = document(*given, "--chart", chart)
    (case,) = found["cases"]
    assert [line["set"] for line in case["sets"]] == [
        "clean", "rotation 1", "rotation 2", "contrast 5", "FGSM 1/255", "some classes",
    ]  # fmt: skip
    assert case["sets"][-1]["left_out"] > 300
    for line in case["sets"]:
        for method in line["methods"]:
            assert method["error"] == pytest.approx(
                abs(method["estimate"] - line["truth"]), abs=0.25
            )
    summary = {(m["name"], m["labels"]): m for m in found["summary"]["methods"]}
    assert summary["prediction_powered", 50]["coverage"] is not None
    assert summary["mp_star", 0]["sets"] == 6
    batches = case["batches"]
    assert list(dict.fromkeys(batches["of"])) == ["clean", "rotation 1", "rotation 2"]
    assert batches["rmse"]["prediction_powered"] < 0.1
    assert chart.read_text().startswith("<?xml")


def test_the_description_that_ships_is_read() -> None:
    _, cases = read(ROOT / "bench" / "accuracy" / "images.toml", ROOT)
    assert len(cases) == 2
    assert ("gaussian", 5) in cases[0].faults
    assert len(cases[1].sets[0].relabel) == 20


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('name = "digits"\n', "", "needs a name"),
        ("faults", "fault", "unknown key 'fault'"),
        ('"contrast:5"', '"contrast"', "write name:severity"),
        ('"contrast:5"', '"contrast:6"', "1 to 5"),
        ('"contrast:5"', '"rain:5"', "unknown fault 'rain'"),
        ("attack = 1", 'attack = "1"', "attack is '1'"),
        ("reference", "rows2", "unknown key"),
        ('"3" = 3', '"x" = 3', "numbers in relabel"),
        ('rows = "digits.npz[900:1390]"\n', "", "lacks rows"),
    ],
)
def test_a_wrong_description_is_one_sentence(old: str, new: str, said: str, tmp_path: Path) -> None:
    spec = tmp_path / "s.toml"
    spec.write_text(CASE.replace(old, new, 1))
    with pytest.raises(EdgemonError, match=said):
        read(spec, DEMO)


def test_a_description_that_is_missing_is_one_sentence(tmp_path: Path) -> None:
    assert "none.toml" in refused("accuracy-study", tmp_path / "none.toml")
