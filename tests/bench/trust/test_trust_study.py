"""Trust of many models by one description."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemon.bench.trust.study import read
from edgemon.runtime.errors import EdgemonError
from tests.command_line import document
from tests.conftest import DEMO, ROOT

SPEC = f"""
[defaults]
data = "digits.npz"
[[model]]
name = "digits"
model = "{DEMO / "digits_int8.tflite"}"
faults = ["rotation:3"]
[[model]]
name = "some digits"
model = "{DEMO / "digits_int8.tflite"}"
data = "digits.npz[0:300]"
most_label = 7
"""


def test_models_are_measured_on_their_rows_and_on_changed_ones(tmp_path: Path) -> None:
    spec = tmp_path / "s.toml"
    spec.write_text(SPEC)
    found = document("trust-study", spec, "--root", DEMO)
    assert found["not_available"] == {}
    plain, turned, some = found["models"]
    assert [m["name"] for m in found["models"]] == ["digits", "digits, rotation 3", "some digits"]
    assert turned["net_trust_score"] < plain["net_trust_score"]
    assert some["rows"] == 300


def test_the_description_that_ships_names_eleven_models() -> None:
    subjects, _ = read(ROOT / "bench" / "trust" / "models.toml", ROOT)
    assert len({s.title for s in subjects}) == 11


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[[model]]", "[[models]]", "describes no"),
        ('name = "digits"', "name = 3", "name is 3"),
        ("most_label", "labels", "unknown key 'labels'"),
        ('["rotation:3"]', '["rotation"]', "write name:severity"),
        ('["rotation:3"]', '["rain:1"]', "unknown fault"),
        ('[defaults]\ndata = "digits.npz"', "[defaults]", "needs model and data"),
    ],
)
def test_a_wrong_description_is_one_sentence(old: str, new: str, said: str, tmp_path: Path) -> None:
    spec = tmp_path / "s.toml"
    spec.write_text(SPEC.replace(old, new))
    with pytest.raises(EdgemonError, match=said):
        read(spec, DEMO)
