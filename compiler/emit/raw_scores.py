"""Raw scores, and edges between them, as a flat file holds them: 8 bytes each (FORMAT.md, D6)."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

EDGE_BYTES = 8  # a float32 lies in the first four


def pack_score(value: float | int, dtype: str) -> bytes:
    """A raw score of this dtype."""
    if dtype == "float32":
        return struct.pack("<fI", value, 0)
    return struct.pack("<q", value)


def unpack_score(raw: bytes, dtype: str) -> float | int:
    """The inverse."""
    number: float | int = struct.unpack("<fI" if dtype == "float32" else "<q", raw)[0]
    return number


def pack_edges(edges: npt.NDArray[Any]) -> bytes:
    """Of int64 or float32 edges (n,)."""
    stored = np.zeros(len(edges), "<i8")
    if edges.dtype == np.float32:
        stored.view("<f4")[::2] = edges
    else:
        stored[:] = edges
    return stored.tobytes()


def unpack_edges(section: bytes, at: int, count: int, dtype: str) -> npt.NDArray[Any]:
    """The edges of a valid section; ``dtype`` is that of the raw scores."""
    stored = np.frombuffer(section, "<i8", count, at)
    return stored.view("<f4")[::2].copy() if dtype == "float32" else stored.copy()
