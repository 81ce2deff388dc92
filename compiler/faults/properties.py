"""What is changed of an image, and by how much."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

from edgemon.compiler.errors import FaultError
from edgemon.compiler.faults.registry import Fault, UnknownFaultError, find, generator, make, names
from edgemon.targets.nearest import choices

Bytes = npt.NDArray[np.uint8]

NOISE, ROTATION, BRIGHTNESS = "noise", "rotation", "brightness"
VALUES: Mapping[str, tuple[float, ...]] = {  # of the paper
    NOISE: (0.05, 0.1, 0.2, 0.3),  # standard deviation, of full scale
    ROTATION: (-30.0, -20.0, -10.0, 10.0, 20.0, 30.0),  # degrees, against the clock
    BRIGHTNESS: (0.5, 0.75, 1.25, 1.5),  # factor
}
LIMITS = {NOISE: (0.0, 1.0), ROTATION: (-45.0, 45.0), BRIGHTNESS: (0.0, 4.0)}
STEPS = 13  # of a range


@dataclass(frozen=True)
class Change:
    """One property at one value; of a fault the value is its severity."""

    property: str
    value: float

    def __str__(self) -> str:
        return f"{self.property}={self.value:g}"


def parse(text: str, option: str = "--properties") -> list[Change]:
    """``noise,rotation=-30:30,brightness=0.5,fog=3``: a property alone has the paper's values, a
    fault alone all its severities, and FIRST:LAST is a range of 13 values (of a fault its
    severities). ``option``: of the command, for messages. Raises FaultError."""
    found: list[Change] = []
    for part in (p.strip() for p in text.split(",")):
        name, _, values = (p.strip() for p in part.partition("="))
        found += [Change(name, v) for v in _values(name, values, option)]
    twice = next((c for c in found if found.count(c) > 1), None)
    if twice is not None:
        raise FaultError(f"{option}: {twice} is there twice")
    return found


def _values(name: str, text: str, option: str) -> Sequence[float]:
    if not name:
        raise FaultError(f"{option}: a name is empty; write noise,rotation=10,fog=3")
    if name not in VALUES:
        severities = _fault(name, option).severities
        first, last = _bounds(name, text or f"1:{severities}", (1, severities), option)
        if first != int(first) or last != int(last):
            raise FaultError(f"{option} {name}={text}: severities are whole")
        return [float(s) for s in range(int(first), int(last) + 1)]
    if not text:
        return VALUES[name]
    first, last = _bounds(name, text, LIMITS[name], option)
    if ":" not in text:
        return [first]
    return [round(float(v), 6) for v in np.linspace(first, last, STEPS)]


def _fault(name: str, option: str) -> Fault:
    try:
        return find(name)
    except UnknownFaultError:
        faults = [n for n in names() if n not in VALUES]
        raise FaultError(
            f"{option}: there is no property {name!r}{choices(name, (*VALUES, *faults))}"
        ) from None


def _bounds(name: str, text: str, limits: tuple[float, float], option: str) -> tuple[float, float]:
    first, _, last = text.partition(":")
    try:
        found = float(first), float(last or first)
    except ValueError:
        found = (math.nan, math.nan)
    if not limits[0] <= found[0] <= found[1] <= limits[1]:
        raise FaultError(
            f"{option} {name}={text}: write a value or FIRST:LAST, from {limits[0]:g} to "
            f"{limits[1]:g}"
        )
    return found


def changed(
    images: Bytes, change: Change, *, seed: int, rows: npt.NDArray[np.int64], full_scale: int,
    frame: Bytes | None = None,
) -> Bytes:  # fmt: skip
    """Images (n, H, W[, C]) with a property changed, clipped and rounded to bytes. What is drawn
    depends on (seed, property, value, number of the row) alone. ``frame``: (H, W[, C]) that stays,
    for a fault that needs one; the first of these if none."""
    if change.property not in VALUES:
        return make(
            images, change.property, int(change.value), seed=seed, rows=rows.tolist(),
            full_scale=full_scale, frame=images[0] if frame is None else frame,
        )  # fmt: skip
    found = np.empty_like(images)
    for i, row in enumerate(rows.tolist()):
        x = images[i] / full_scale
        if change.property == NOISE:
            # One draw a row, scaled: a larger value is more of the same noise.
            x = x + change.value * generator(NOISE, 0, seed, row).normal(size=x.shape)
        elif change.property == ROTATION:
            x = scipy.ndimage.rotate(x, change.value, axes=(1, 0), reshape=False, order=1)
        else:
            x = x * change.value
        found[i] = np.rint(full_scale * np.clip(x, 0, 1))
    return found
