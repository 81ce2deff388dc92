"""The ACCURACY section of a flat file: FORMAT.md, section 15."""

from __future__ import annotations

import struct

import numpy as np

from edgemon.compiler.accuracy.table import AccuracyTable
from edgemon.compiler.emit.raw_scores import EDGE_BYTES, pack_edges, unpack_edges

HEAD = struct.Struct("<8I")


def pack(table: AccuracyTable) -> bytes:
    """The section of a table."""
    head = HEAD.pack(
        table.monitor, len(table.probabilities), table.window, table.least, table.rows,
        table.variance, 0, 0,
    )  # fmt: skip
    return head + pack_edges(table.edges) + table.probabilities.astype("<u2").tobytes()


def unpack(section: bytes, dtypes: list[str]) -> AccuracyTable:
    """The table of a valid section; ``dtypes`` are those of the monitors' raw scores."""
    monitor, steps, window, least, rows, variance, *_ = HEAD.unpack_from(section)
    edges = unpack_edges(section, HEAD.size, steps - 1, dtypes[monitor])
    at = HEAD.size + EDGE_BYTES * (steps - 1)
    probabilities = np.frombuffer(section, "<u2", steps, at).copy()
    return AccuracyTable(monitor, edges, probabilities, rows, variance, window, least)
