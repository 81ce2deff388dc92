"""Patterns of bits as the words that an artifact holds: bit i is bit i % 32 of word i / 32."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]


def packed(bits: Bools) -> npt.NDArray[np.uint32]:
    """The words of patterns (P, m), flat; bits behind the last one are zero."""
    words = -(-bits.shape[1] // 32)
    padded = np.zeros((len(bits), words * 32), bool)
    padded[:, : bits.shape[1]] = bits
    return np.packbits(padded, axis=1, bitorder="little").view("<u4").astype(np.uint32).ravel()


def unpacked(words: npt.NDArray[Any], length: int) -> Bools:
    """The patterns (P, length)."""
    rows = words.reshape(-1, -(-length // 32)).astype("<u4")
    return np.unpackbits(rows.view(np.uint8), axis=1, bitorder="little")[:, :length].astype(bool)
