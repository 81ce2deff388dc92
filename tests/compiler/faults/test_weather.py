"""Fog, snow and drops."""

from __future__ import annotations

import numpy as np

from edgemon.compiler.faults.image import tinted
from edgemon.compiler.faults.weather import MUD, SNOW, WATER, fog, plasma, snow, spatter
from tests.compiler.faults.images import image, rng


def test_fog_keeps_the_largest_value_and_hides_the_rest() -> None:
    x = image(32)
    thin, thick = fog(x, 1, rng()), fog(x, 5, rng())
    for found in (thin, thick):
        assert found.max() <= x.max() + 1e-12

    def likeness(found: np.ndarray) -> float:
        return float(np.corrcoef(found.ravel(), x.ravel())[0, 1])

    assert likeness(thin) > likeness(thick) + 0.2


def test_a_fractal_is_rougher_the_slower_it_decays() -> None:
    def jumps(decay: float) -> float:
        draws = [plasma(32, decay, rng(seed)) for seed in range(30)]
        return float(np.mean([np.abs(np.diff(d, axis=1)).mean() for d in draws]))

    assert 0 < jumps(3.0) < 0.8 * jumps(1.75)
    assert plasma(20, 2.0, rng()).shape == (20, 20)
    whole = plasma(32, 2.0, rng())
    assert (whole.min(), whole.max()) == (0, 1)


def test_snow_whitens_and_its_flakes_are_the_rarer_the_higher_their_least_value() -> None:
    grey = np.full((64, 64, 3), 0.5)
    for severity, constants in enumerate(SNOW, 1):
        found = snow(grey, severity, rng())
        ground = constants[6] * 0.5 + (1 - constants[6]) * 1.25  # without a flake
        assert found.min() >= ground - 1e-9
        assert found.mean() > ground
    np.testing.assert_allclose(snow(grey, 1, rng()).min(), 0.95 * 0.5 + 0.05 * 1.25)


def test_drops_of_water_are_turquoise_and_mud_is_brown() -> None:
    x = image(64)
    wet = spatter(x, 3, rng()) - x
    drops = wet.max(axis=2) > 0.1
    assert 0.02 < drops.mean() < 0.7
    ratio = wet[drops] / wet[drops].max(axis=1, keepdims=True)
    np.testing.assert_allclose(ratio.mean(axis=0), tinted(WATER, 3) / (238 / 255))
    muddy = spatter(x, 5, rng())
    covered = np.abs(muddy - x).max(axis=2) > 0
    assert 0.02 < covered.mean() < 0.7
    assert np.abs(muddy[covered] - tinted(MUD, 3)).max() < 0.2


def test_an_image_too_small_for_drops_stays() -> None:
    dry = [(spatter(image(4), 1, rng(seed)) == image(4)).all() for seed in range(50)]
    assert any(dry)
