"""Descriptions of benchmarks: what they name, and mistakes in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemon.bench.errors import BenchError
from edgemon.bench.farm.spec import FarmSpec, Wanted

FARM = Path(__file__).parents[3] / "bench" / "farm"
GOOD = """
rows = 40
[faults]
fog = [1, 5]
dead_rows = "all"
jpeg = 2
deepfool = "all"
[[case]]
name = "one"
model = "m.tflite"
fit = "fit.npz"
calibrate = "c.npz"
test = "t.npz"
monitors = ["msp_t"]
full_scale = 16
"""


def read(folder: Path, text: str) -> FarmSpec:
    path = folder / "spec.toml"
    path.write_text(text)
    return FarmSpec.read(path)


def test_faults_are_named_with_their_severities(tmp_path: Path) -> None:
    found = read(tmp_path, GOOD)
    assert found.wanted == (
        Wanted("fog", 1), Wanted("fog", 5), *(Wanted("dead_rows", s) for s in range(1, 5)),
        Wanted("jpeg_compression", 2), Wanted("deepfool", 1),
    )  # fmt: skip
    assert [w.kind for w in found.wanted[1::3]] == ["weather", "anomaly", "adversarial"]
    assert (found.rows, found.seed, found.cases[0].full_scale) == (40, 0, 16)


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("fog = [1, 5]", "fog = [6]", "fog is [6], not severities from 1 to 5"),
        ("fog = [1, 5]", "fog = []", "not severities"),
        ("fog = [1, 5]", "rain = [1]", "unknown fault 'rain'"),
        ("fog = [1, 5]", "frost = [1]", "needs photographs"),
        ("rows = 40", "rows = 3", "rows is 3, not a whole number from 20"),
        ("rows = 40", "row = 40", "unknown key 'row'; there are name, rows"),
        ("full_scale = 16", "full_scale = 300", "full_scale is from 1 to 255"),
        ("full_scale = 16", "gradients = 'a'", "unknown key 'gradients'"),
        (
            'calibrate = "c.npz"\ntest = "t.npz"',
            'pool = "t.npz"\nresplits = 2',
            "used nowhere else",
        ),
        ("[faults]", "[fault]", "unknown key 'fault'"),
    ],
)
def test_mistakes_are_one_sentence(tmp_path: Path, before: str, after: str, words: str) -> None:
    assert before in GOOD
    with pytest.raises(BenchError) as error:
        read(tmp_path, GOOD.replace(before, after))
    assert words in str(error.value)


def test_nothing_to_judge_by(tmp_path: Path) -> None:
    head, _, tail = GOOD.partition("[faults]")
    with pytest.raises(BenchError, match="names no fault"):
        read(tmp_path, head + tail[tail.index("[[case]]") :])


def test_descriptions_that_are_shipped() -> None:
    found = {path.stem: FarmSpec.read(path) for path in FARM.glob("*.toml")
             if path.stem != "published"}  # fmt: skip
    assert found.keys() == {"cifar10", "gtsrb", "demo", "odin"}
    assert found["odin"].cases[0].float_model
    cifar, gtsrb = found["cifar10"], found["gtsrb"]
    assert len(cifar.wanted) + len(cifar.cases[0].novel) == 79
    assert len(cifar.cases[0].monitors) == 23
    assert {"errors", "scod"} < set(cifar.cases[0].monitors)
    assert len(gtsrb.wanted) >= 20
    assert len(found["demo"].cases[0].monitors) == 3
    assert len({w.fault for w in found["demo"].wanted}) == 5
