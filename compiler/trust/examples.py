"""Wrong answers that were given with the most confidence, with small pictures to look at."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image as Pillow

Document = dict[str, Any]
Bytes = npt.NDArray[np.uint8]

SIDE = 64  # pixels of a picture, at most: 12 kB before it is compressed
MOST = 24  # pictures of a model


def worst_of_classes(
    labels: npt.NDArray[np.int64], predicted: npt.NDArray[np.int64],
    confidence: npt.NDArray[np.float64],
) -> list[int]:  # fmt: skip
    """Positions of wrong answers: the surest of each class, surest first. All (n,)."""
    wrong = np.flatnonzero((predicted != labels) & (labels >= 0))
    by_confidence = wrong[np.argsort(-confidence[wrong], kind="stable")]
    _, first = np.unique(labels[by_confidence], return_index=True)
    return [int(i) for i in by_confidence[np.sort(first)]]


def example(
    image: Bytes | None, *, label: str, answer: str, confidence: float, row: int,
    full_scale: int, change: tuple[str, float] | None = None,
) -> Document:  # fmt: skip
    """One wrong answer; ``row``: its number in the data; ``change``: property and value."""
    name, value = (None, None) if change is None else change
    return {
        "class": label, "answered": answer, "confidence": confidence, "row": row,
        "property": name, "value": value,
        "image": None if image is None else picture(image, full_scale),
    }  # fmt: skip


def surest(found: Sequence[Document]) -> list[Document]:
    """The most confident ones, as many of each property, ``MOST`` together."""
    names = list(dict.fromkeys(e["property"] for e in found))
    each = max(1, MOST // max(1, len(names)))
    kept = []
    for name in names[:MOST]:
        own = [e for e in found if e["property"] == name]
        kept += sorted(own, key=lambda e: -e["confidence"])[:each]
    return kept


def picture(image: Bytes, full_scale: int) -> str:
    """(H, W[, C]) of bytes as the address of a PNG that holds itself; of one or three channels
    their colour, of others the mean."""
    x = np.minimum(image.reshape(*image.shape[:2], -1) / full_scale, 1)
    x = x if x.shape[2] in (1, 3) else x.mean(axis=2, keepdims=True)
    values = np.rint(255 * x).astype(np.uint8)
    small = Pillow.fromarray(values[..., 0] if x.shape[2] == 1 else values)
    small.thumbnail((SIDE, SIDE))
    target = io.BytesIO()
    small.save(target, "PNG", optimize=True)
    return "data:image/png;base64," + base64.b64encode(target.getvalue()).decode()
