"""Small pictures that a page and a JSON document hold themselves."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

Array = npt.NDArray[Any]
Bytes = npt.NDArray[np.uint8]

SIDES = (64, 48, 32, 24, 16, 8)  # pixels of the longer side, at most
PREFIX = "data:image/png;base64,"


@dataclass(frozen=True)
class Shades:
    """The values that are drawn black and white."""

    black: float
    white: float

    @classmethod
    def of(cls, values: Array) -> Shades:
        """Of pixels like these: 0 to 1 or 0 to 255 where they are such, else from 0, or the least
        negative one, to the largest. 0 to 1 without a finite one."""
        finite = values[np.isfinite(values)]
        low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
        if low < 0:
            return cls(low, max(high, 0.0))
        if high <= 1:
            return cls(0.0, 1.0)
        return cls(0.0, 255.0 if 128 <= high <= 255 else high)

    def to_bytes(self, image: Array) -> Bytes:
        """(H, W, C) as (H, W) or (H, W, 3); what is not finite is black, and a fourth channel is
        left out."""
        with np.errstate(invalid="ignore", over="ignore"):
            share = (image.astype(np.float64) - self.black) / (self.white - self.black)
        share = np.nan_to_num(share, nan=0.0, posinf=1.0, neginf=0.0)
        shown: Bytes = np.rint(255 * np.clip(share, 0, 1)).astype(np.uint8)
        return shown[..., 0] if shown.shape[-1] == 1 else shown[..., :3]


def encoded(images: Sequence[Bytes], most_bytes: int) -> list[str]:
    """Data URIs of images (H, W) or (H, W, 3), as large as all of them fit into so many bytes."""
    found: list[str] = []
    for side in SIDES:
        found = [_encoded(image, side) for image in images]
        if sum(map(len, found)) <= most_bytes:
            break
    return found


def _encoded(image: Bytes, side: int) -> str:
    small = Image.fromarray(np.ascontiguousarray(image))
    small.thumbnail((side, side))
    target = io.BytesIO()
    small.save(target, "PNG", optimize=True)
    return PREFIX + base64.b64encode(target.getvalue()).decode()
