"""Blurs spread a point as their kernels say, and keep its light."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.faults import blur
from edgemon.compiler.faults.image import smooth, streaked, zoomed
from tests.compiler.faults.images import image, rng, spot

MAKERS = (blur.defocus, blur.motion, blur.gaussian)


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("severity", range(1, 6))
def test_light_is_spread_and_kept(make, severity: int) -> None:  # type: ignore[no-untyped-def]
    x = spot()
    found = make(x, severity, rng())
    np.testing.assert_allclose(found.sum(), 1, rtol=1e-6)
    assert 0 < found.max() < 1
    flat = np.full((20, 24, 3), 0.4)
    np.testing.assert_allclose(make(flat, severity, rng()), flat)


def test_a_gaussian_has_its_variance() -> None:
    at = np.arange(33) - 16
    for severity, sigma in enumerate(blur.GAUSSIAN, 1):
        if sigma >= 0.6:  # a narrower one is not sampled well enough
            profile = blur.gaussian(spot(), severity, rng())[..., 0].sum(axis=0)
            np.testing.assert_allclose((profile * at**2).sum(), sigma**2, rtol=0.03)


def test_the_disk_of_radius_one_is_a_plus() -> None:
    plus = blur.disk(1, 0.01)[7:10, 7:10]
    np.testing.assert_allclose(plus * 5, [[0, 1, 0], [1, 1, 1], [0, 1, 0]], atol=1e-12)


def test_motion_has_a_direction() -> None:
    across = streaked(spot(), 6, 2, 0)[..., 0]
    assert (across.sum(axis=1) > 0).sum() == 1
    weights = across[16][across[16] > 0][::-1]
    np.testing.assert_allclose(weights[1:] / weights[0], np.exp(-(np.arange(1, 13) ** 2) / 8))
    down = streaked(spot(), 6, 2, 90)[..., 0]
    np.testing.assert_allclose(down, across.T, atol=1e-12)


def test_glass_takes_values_of_neighbours() -> None:
    x = np.rint(255 * image(20)) / 255
    found = blur.glass(x, 1, rng())  # its blur of .05 pixels is none
    near = {(0, 0), (0, -1), (-1, 0), (-1, -1)}
    shifted = np.stack([np.roll(x, (-r, -c), (0, 1)) for r, c in near])
    inner = (slice(2, None), slice(2, None))
    closest = np.abs(shifted - found).min(axis=0)[inner]
    assert closest.max() < 2e-3  # bytes are rounded down before
    assert (np.abs(found - x)[inner].max(axis=2) > 0.05).mean() > 0.5
    np.testing.assert_allclose(found[:2], x[:2], atol=1 / 255)


def test_zoom_grows_and_keeps_the_size() -> None:
    x = image(24)[:, :18]
    assert zoomed(x, 1.2).shape == x.shape
    square = np.zeros((41, 41, 1))
    square[15:26, 15:26] = 1
    np.testing.assert_allclose(zoomed(square, 1.5).sum() / square.sum(), 1.5**2, rtol=0.1)
    spread = [blur.zoom(square, s, rng()) for s in range(1, 6)]
    far = [float(((f - square) ** 2).mean()) for f in spread]
    assert far == sorted(far)


def test_no_sigma_blurs_nothing() -> None:
    np.testing.assert_array_equal(smooth(image(), 0), image())
