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


def bdd_nodes(bits: Bools) -> int:
    """Inner nodes of the reduced ordered binary decision diagram of a set of patterns (P, m), in
    the order of the bits (Bryant 1986): distinct functions of the bits that are left, without
    those that do not look at the next bit."""
    rows = np.unique(bits, axis=0)  # in lexicographic order, so that common beginnings adjoin
    if not rows.size:
        return 0
    # Where two neighbours part: their functions meet in a node of that bit.
    parts = [*np.argmax(rows[1:] != rows[:-1], axis=1).tolist(), -1]
    groups = [(row, part, 1) for row, part in zip(rows, parts, strict=True)]  # 1: accepts
    known: dict[tuple[int, int, int], int] = {}
    for bit in range(bits.shape[1] - 1, -1, -1):
        above = []
        low = None
        for row, part, function in groups:
            if part == bit and not row[bit]:
                low = function
                continue
            pair = (low or 0, function) if row[bit] else (function, 0)
            same = pair[0] == pair[1]
            merged = function if same else known.setdefault((bit, *pair), len(known) + 2)
            above.append((row, part, merged))
            low = None
        groups = above
    return len(known)
