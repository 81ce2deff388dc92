"""Noise of a sensor."""

from __future__ import annotations

from edgemon.compiler.faults.image import Floats, Generator

GAUSSIAN = (0.04, 0.06, 0.08, 0.09, 0.10)  # standard deviation
SHOT = (500, 250, 100, 75, 50)  # photons of full brightness
IMPULSE = (0.01, 0.02, 0.03, 0.05, 0.07)  # share of the values that are lost
SPECKLE = (0.06, 0.1, 0.12, 0.16, 0.2)  # standard deviation, as a share of the value


def gaussian(x: Floats, severity: int, rng: Generator) -> Floats:
    """Added, of one standard deviation."""
    found: Floats = x + rng.normal(0, GAUSSIAN[severity - 1], x.shape)
    return found


def shot(x: Floats, severity: int, rng: Generator) -> Floats:
    """Poisson noise: photons are counted."""
    photons = SHOT[severity - 1]
    found: Floats = rng.poisson(x * photons) / photons
    return found


def impulse(x: Floats, severity: int, rng: Generator) -> Floats:
    """Salt and pepper: single values of single channels become 0 or full, as often one as the
    other."""
    found = x.copy()
    hit = rng.random(x.shape) < IMPULSE[severity - 1]
    found[hit] = rng.integers(0, 2, int(hit.sum()))
    return found


def speckle(x: Floats, severity: int, rng: Generator) -> Floats:
    """In proportion to the value."""
    found: Floats = x + x * rng.normal(0, SPECKLE[severity - 1], x.shape)
    return found
