"""Corruptions as they are defined, and the drift flag on images that are corrupted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from edgemon.compiler.faults.registry import make
from tests.command_line import DATA, MODEL, document, edgemon, refused
from tests.conftest import DEMO


def test_other_corruptions_are_taken_by_name(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    document("compile", MODEL, "--data", DATA, "--monitor", "msp_t", "--out", out)
    given = ("shift", out, "--data", DATA, "--orders", "1", "--images", "40")
    found = document(*given, "--corruptions", "snow,frozen,dead_rows", "--full-scale", "16")
    named = [(line["corruption"], line["severity"]) for line in found["lines"]]
    assert named == [
        ("none", 0), ("snow", 3), ("snow", 5), ("frozen", 1), ("dead_rows", 3)
    ]  # fmt: skip
    assert len({line["sha256"] for line in found["lines"]}) == 5
    assert "frost" in found["left_out"]
    assert "There are gaussian_noise, " in refused(*given, "--corruptions", "rain")
    assert "photographs" in refused(*given, "--corruptions", "frost")
    assert "the largest value of these images is 16" in edgemon(*given).stderr


def test_the_flag_rises_on_corrupted_digits_and_not_on_clean_ones(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    compiled = document("compile", MODEL, "--data", DATA, "--monitor", "msp_t", "--out", out)
    drift = compiled["drift"]
    assert drift["measured"]["interval"][0] > drift["run_length"] == 10_000
    assert drift["test_rows"] == {"images": compiled["rows"]["test"], "flagged_at": None}
    found = document("shift", out, "--data", DATA, "--orders", "5", "--images", "200")
    clean, *shifted = found["lines"]
    assert found["images"] == 200
    assert (clean["corruption"], clean["images_to_flag"], clean["flagged_orders"]) == (
        "none",
        None,
        0,
    )
    assert len(shifted) == 8
    for line in shifted:
        assert line["accuracy"] < clean["accuracy"]
        assert line["images_to_flag"] < 100
        assert line["flagged_orders"] == 5
    assert (
        "clean images to a false flag"
        in edgemon("shift", out, "--data", DATA, "--orders", "1", "--images", "50").stdout
    )

    novelty = str(DEMO / "novelty.npz")
    run = document("run", out, "--data", novelty)["summary"]["drift"]
    assert run["flag"]
    assert run["since"] <= run["flagged_at"] < 100 < run["images"]
    (line,) = [v for v in edgemon("run", out, "--data", novelty).stderr.splitlines() if v]
    assert f"drift: since image {run['since']} the scores are unlike" in line
    clean_run = document("run", out, "--data", DATA + "[0:300]")["summary"]["drift"]
    assert (clean_run["flag"], clean_run["flagged_at"]) == (False, None)


def test_a_bundle_without_a_drift_test(tmp_path: Path) -> None:
    out = tmp_path / "bundle"
    found = document(
        "compile", MODEL, "--data", DATA, "--monitor", "msp_t", "--drift-run-length", "0",
        "--out", out,
    )  # fmt: skip
    assert found["drift"] is None
    assert "drift" not in document("inspect", out)["sections"]
    assert document("run", out, "--data", DATA + "[0:9]")["summary"]["drift"] is None
    assert "has no drift test" in refused("shift", out, "--data", DATA)
    assert "--drift-run-length -1" in refused(
        "compile", MODEL, "--data", DATA, "--drift-run-length", "-1", "--out", tmp_path / "c"
    )


def test_test_rows_unlike_the_threshold_rows_are_told(tmp_path: Path) -> None:
    with np.load(DATA) as data:
        x, y = data["x"], data["y"]
    foggy = make(x[900:], "fog", 1, seed=0, rows=range(900, len(x)))
    np.savez(tmp_path / "test.npz", x=foggy, y=y[900:])
    result = edgemon(
        "compile", MODEL, "--fit", DATA + "[0:450]", "--calibrate", DATA + "[450:900]",
        "--test", tmp_path / "test.npz", "--monitor", "msp_t", "--out", tmp_path / "bundle",
    )  # fmt: skip
    assert result.exit_code == 0
    assert "are distributed on the test rows unlike on the threshold rows" in result.stderr
    assert (
        "distributed unlike those on the threshold"
        in (tmp_path / "bundle" / "report.html").read_text()
    )
