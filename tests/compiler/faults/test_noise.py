"""Noise has the deviation that its constant says."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.faults import noise
from tests.compiler.faults.images import image, rng

SEVERITIES = range(1, 6)


@pytest.mark.parametrize("severity", SEVERITIES)
def test_moments_are_those_of_the_formula(severity: int) -> None:
    x = image(128)
    added = noise.gaussian(x, severity, rng()) - x
    np.testing.assert_allclose(added.std(), noise.GAUSSIAN[severity - 1], rtol=0.02)
    np.testing.assert_allclose(added.mean(), 0, atol=0.001)
    share = (noise.speckle(x, severity, rng()) - x) / x
    np.testing.assert_allclose(share.std(), noise.SPECKLE[severity - 1], rtol=0.02)
    photons = noise.SHOT[severity - 1]
    shot = noise.shot(x, severity, rng())
    np.testing.assert_allclose(((shot - x) ** 2).mean(), x.mean() / photons, rtol=0.03)
    np.testing.assert_allclose(shot * photons, np.rint(shot * photons))


@pytest.mark.parametrize("severity", SEVERITIES)
def test_impulses_are_salt_as_often_as_pepper(severity: int) -> None:
    x = image(256)
    found = noise.impulse(x, severity, rng())
    hit = found != x
    np.testing.assert_allclose(hit.mean(), noise.IMPULSE[severity - 1], rtol=0.06)
    assert set(np.unique(found[hit])) == {0, 1}
    np.testing.assert_allclose(found[hit].mean(), 0.5, atol=0.03)
    assert (hit.any(axis=2) != hit.all(axis=2)).any()  # channels are hit by themselves
