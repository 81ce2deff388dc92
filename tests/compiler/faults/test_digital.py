"""Exposure, colour, scaling and compression, beside other implementations of the formulae."""

from __future__ import annotations

import colorsys

import numpy as np
import pytest

from edgemon.compiler.faults import digital
from tests.compiler.faults.images import image, rng

SEVERITIES = range(1, 6)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_contrast_is_what_is_left_of_the_deviation(severity: int) -> None:
    x = image(32)
    flat = digital.contrast(x, severity, rng())
    np.testing.assert_allclose(flat.mean(axis=(0, 1)), x.mean(axis=(0, 1)))
    left = digital.CONTRAST[severity - 1]
    np.testing.assert_allclose(flat.std(axis=(0, 1)), left * x.std(axis=(0, 1)))


@pytest.mark.parametrize("severity", SEVERITIES)
def test_brightness_and_saturation_are_those_of_hsv(severity: int) -> None:
    x = image(6)
    x[0, 0] = 0.4  # grey
    bright = digital.brightness(x, severity, rng())
    colourful = digital.saturate(x, severity, rng())
    factor, added = digital.SATURATE[severity - 1]
    for before, brighter, other in zip(
        x.reshape(-1, 3), bright.reshape(-1, 3), colourful.reshape(-1, 3), strict=True
    ):
        hue, saturation, value = colorsys.rgb_to_hsv(*before)
        top = min(value + digital.BRIGHTNESS[severity - 1], 1)
        np.testing.assert_allclose(brighter, colorsys.hsv_to_rgb(hue, saturation, top))
        wanted = min(max(factor * saturation + added, 0), 1)
        np.testing.assert_allclose(other, colorsys.hsv_to_rgb(hue, wanted, value), atol=1e-12)


def test_black_becomes_grey_where_it_is_brightened() -> None:
    found = digital.brightness(np.zeros((2, 2, 3)), 5, rng())
    np.testing.assert_allclose(found, digital.BRIGHTNESS[4])


def test_pixels_are_means_of_boxes() -> None:
    x = np.rint(255 * image(40)) / 255
    found = digital.pixelate(x, 5, rng())  # 26 pixels of 40
    assert np.unique(found[:, :, 0], axis=0).shape == (26, 40)
    assert np.unique(found[:, :, 0], axis=1).shape == (40, 26)
    halves = np.repeat(np.array([0.2, 0.6]), 20)[:, None, None] * np.ones((40, 40, 3))
    flat = digital.pixelate(halves, 5, rng())
    np.testing.assert_allclose(flat, np.rint(255 * halves) / 255)  # the border is one of boxes
    far = [float(((digital.pixelate(x, s, rng()) - x) ** 2).mean()) for s in SEVERITIES]
    assert far == sorted(far)


def test_lower_quality_is_further_away_and_grey_images_are_compressed_too() -> None:
    x = np.clip(image(32) + 0.2 * rng().normal(size=(32, 32, 3)), 0, 1)
    far = [float(((digital.jpeg(x, s, rng()) - x) ** 2).mean()) for s in SEVERITIES]
    assert far == sorted(far)
    assert 0 < far[0] < far[-1]
    assert digital.jpeg(x[..., :1], 3, rng()).shape == (32, 32, 1)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_elastic_moves_pixels_as_far_as_it_may(severity: int) -> None:
    """A ramp shows where each pixel comes from."""
    side = 48
    reach, _, corner = (side * share for share in digital.ELASTIC[severity - 1])
    ramp = np.broadcast_to(np.arange(side)[:, None, None] / side, (side, side, 1))
    found = digital.elastic(ramp, severity, rng(2))
    moved = side * (found - ramp)[12:-12, 12:-12, 0]
    assert 0.2 < np.abs(moved).max() < 4 * corner + reach
