"""Corruptions as they are defined, and the drift flag on images that are corrupted."""

from __future__ import annotations

import colorsys
from pathlib import Path

import numpy as np
import pytest

from edgemon.bench.errors import BenchError
from edgemon.bench.shift.corruptions import (
    BRIGHTNESS,
    CONTRAST,
    CORRUPTIONS,
    GAUSSIAN,
    corrupt,
    fog,
    plasma,
)
from tests.command_line import DATA, MODEL, document, edgemon, refused
from tests.conftest import DEMO


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def images(count: int = 20, size: int = 32) -> np.ndarray:
    return rng().integers(60, 190, (count, size, size, 3)).astype(np.uint8)


@pytest.mark.parametrize("severity", [1, 3, 5])
def test_noise_contrast_and_brightness_have_their_constants(severity: int) -> None:
    x = images() / 255
    noise = CORRUPTIONS["gaussian"](x, severity, rng()) - x
    np.testing.assert_allclose(noise.std(), GAUSSIAN[severity - 1], rtol=0.02)
    flat = CORRUPTIONS["contrast"](x, severity, rng())
    np.testing.assert_allclose(flat.mean(axis=(1, 2)), x.mean(axis=(1, 2)))
    np.testing.assert_allclose(flat.std(axis=(1, 2)), CONTRAST[severity - 1] * x.std(axis=(1, 2)))
    bright = CORRUPTIONS["brightness"](x, severity, rng())
    for before, after in zip(x[0, :4, 0], bright[0, :4, 0], strict=True):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        value = min(value + BRIGHTNESS[severity - 1], 1)
        np.testing.assert_allclose(after, colorsys.hsv_to_rgb(hue, saturation, value))


def test_black_becomes_grey_where_it_is_brightened() -> None:
    found = CORRUPTIONS["brightness"](np.zeros((1, 2, 2, 3)), 5, rng())
    np.testing.assert_allclose(found, BRIGHTNESS[4])


def test_fog_keeps_the_largest_value_and_hides_the_rest() -> None:
    x = images() / 255
    thin, thick = fog(x, 1, rng()), fog(x, 5, rng())
    for found in (thin, thick):
        assert (found.max(axis=(1, 2, 3)) <= x.max(axis=(1, 2, 3)) + 1e-12).all()

    def likeness(found: np.ndarray) -> float:
        return float(np.corrcoef(found.ravel(), x.ravel())[0, 1])

    assert likeness(thin) > likeness(thick) + 0.2


def test_a_fractal_is_rougher_the_slower_it_decays() -> None:
    def jumps(decay: float) -> float:
        return float(np.abs(np.diff(plasma(50, 32, decay, rng()), axis=2)).mean())

    smooth, rough = jumps(3.0), jumps(1.75)
    assert 0 < smooth < 0.8 * rough
    found = plasma(3, 20, 2.0, rng())
    assert found.shape == (3, 20, 20)
    assert (found[0] != found[1]).any()
    whole = plasma(3, 32, 2.0, rng())
    assert (whole.min(), whole.max()) == (0, 1)


@pytest.mark.parametrize("name", CORRUPTIONS)
@pytest.mark.parametrize("shape", [(3, 8, 8), (3, 8, 8, 1), (3, 12, 9, 3)])
def test_images_of_any_shape(name: str, shape: tuple[int, ...]) -> None:
    x = rng().integers(0, 256, shape).astype(np.uint8)
    found = corrupt(x, name, 5, rng())
    assert (found.shape, found.dtype) == (x.shape, np.uint8)
    assert (found != x).any()


def test_only_bytes_are_images() -> None:
    with pytest.raises(BenchError, match="8 bits"):
        corrupt(np.zeros((2, 4, 4), np.float32), "fog", 3, rng())  # type: ignore[arg-type]


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
    foggy = corrupt(x[900:], "fog", 1, rng())
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
