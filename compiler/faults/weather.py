"""Snow, fog, and drops on the lens.

Frost is left out: it is a photograph of frost laid over the image, and needs the photographs.
"""

from __future__ import annotations

import numpy as np
import scipy

from edgemon.compiler.faults.edges import edges, equalised
from edgemon.compiler.faults.image import (
    Floats,
    Generator,
    luminance,
    smooth,
    streaked,
    tinted,
    zoomed,
)

FOG = ((0.2, 3.0), (0.5, 3.0), (0.75, 2.5), (1.0, 2.0), (1.5, 1.75))  # thickness, decay of detail
ROUGHNESS = 100.0  # of a fractal at its coarsest, before it is scaled to [0, 1]
# Flakes: mean, deviation, zoom, least value; radius and sigma of their motion; what is left of x.
SNOW = (
    (0.1, 0.2, 1, 0.6, 8, 3, 0.95), (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
    (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9), (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
    (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
)  # fmt: skip
# Liquid: mean, deviation, sigma of its blur, least value; strength or blur of drops; is it mud?
SPATTER = (
    (0.62, 0.1, 0.7, 0.7, 0.5, False), (0.65, 0.1, 0.8, 0.7, 0.5, False),
    (0.65, 0.3, 1, 0.69, 0.5, False), (0.65, 0.1, 0.7, 0.69, 0.6, True),
    (0.65, 0.1, 0.5, 0.68, 0.6, True),
)  # fmt: skip
WATER, MUD = (175, 238, 238), (63, 42, 20)
FARTHEST = 20.0  # pixels from the edge of a drop
RELIEF = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float64)


def snow(x: Floats, severity: int, rng: Generator) -> Floats:
    """A whiter image, and flakes that fall in two directions."""
    mean, deviation, factor, least, radius, sigma, kept = SNOW[severity - 1]
    flakes = zoomed(rng.normal(mean, deviation, x.shape[:2]), factor)
    flakes = np.floor(255 * np.clip(np.where(flakes < least, 0, flakes), 0, 1)) / 255
    flakes = streaked(flakes, int(radius), sigma, rng.uniform(-135, -45))
    flakes = np.rint(255 * flakes)[:, :, None] / 255
    whiter = np.maximum(x, 1.5 * luminance(x)[:, :, None] + 0.5)
    found: Floats = kept * x + (1 - kept) * whiter + flakes + flakes[::-1, ::-1]
    return found


def fog(x: Floats, severity: int, rng: Generator) -> Floats:
    """A fractal is laid over the image, whose largest value stays."""
    thickness, decay = FOG[severity - 1]
    haze = plasma(max(x.shape[:2]), decay, rng)[: x.shape[0], : x.shape[1], None]
    found: Floats = (x + thickness * haze) * x.max() / (x.max() + thickness)
    return found


def plasma(size: int, decay: float, rng: Generator) -> Floats:
    """A plasma fractal in [0, 1], (size, size), by midpoint displacement on a torus (Fournier,
    Fussell, Carpenter 1982). At each halving of the step, displacements shrink by ``decay``
    squared, as they do in CIFAR-10-C."""
    side = 1 << max(1, (size - 1).bit_length())
    found = np.zeros((side, side))
    step, rough = side, ROUGHNESS
    while step > 1:
        half, reach = step // 2, rough * rough
        shape = (side // step, side // step)
        corners = found[::step, ::step]
        right, below = np.roll(corners, -1, 1), np.roll(corners, -1, 0)
        found[half::step, half::step] = (
            corners + right + below + np.roll(below, -1, 1)
        ) / 4 + rng.uniform(-reach, reach, shape)
        centres = found[half::step, half::step]
        found[::step, half::step] = (
            corners + right + centres + np.roll(centres, 1, 0)
        ) / 4 + rng.uniform(-reach, reach, shape)
        found[half::step, ::step] = (
            corners + below + centres + np.roll(centres, 1, 1)
        ) / 4 + rng.uniform(-reach, reach, shape)
        step, rough = half, rough / decay
    scaled: Floats = (found - found.min()) / (found.max() - found.min())
    return scaled[:size, :size]


def spatter(x: Floats, severity: int, rng: Generator) -> Floats:
    """Drops of water (severities 1 to 3) or mud on the lens; small images may stay without."""
    mean, deviation, sigma, least, strength, is_mud = SPATTER[severity - 1]
    liquid = smooth(rng.normal(mean, deviation, x.shape[:2]), sigma)
    liquid[liquid < least] = 0
    if is_mud:
        cover = smooth((liquid > least).astype(np.float64), strength)
        cover[cover < 0.8] = 0
        return x * (1 - cover[:, :, None]) + cover[:, :, None] * tinted(MUD, x.shape[2])
    drops = _relief(np.floor(255 * np.clip(liquid, 0, 1)))
    if not drops.any():
        return x
    found: Floats = x + strength * (drops / drops.max())[:, :, None] * tinted(WATER, x.shape[2])
    return found


def _relief(liquid: Floats) -> Floats:
    """Drops (H, W) in bytes, lit from one side: by how far a pixel is from the nearest edge."""
    edge = edges(liquid)
    far = (
        scipy.ndimage.distance_transform_edt(~edge)
        if edge.any()
        else np.full(liquid.shape, FARTHEST)
    )
    height = np.floor(scipy.ndimage.uniform_filter(np.minimum(far, FARTHEST), 3, mode="mirror"))
    lit = np.clip(scipy.ndimage.correlate(equalised(height), RELIEF, mode="mirror"), 0, 255)
    found: Floats = liquid * scipy.ndimage.uniform_filter(lit, 3, mode="mirror")
    return found
