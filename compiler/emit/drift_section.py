"""The DRIFT section of a flat file: FORMAT.md, section 13."""

from __future__ import annotations

import struct

import numpy as np

from edgemon.compiler.emit.raw_scores import EDGE_BYTES, pack_edges, unpack_edges
from edgemon.compiler.promise.drift.detector import DriftTest

HEAD = struct.Struct("<IIIiI3I")


def pack(test: DriftTest) -> bytes:
    """The section of a test."""
    alternatives, bins = test.increments.shape
    head = HEAD.pack(test.monitor, bins, alternatives, test.limit, test.run_length, 0, 0, 0)
    return head + pack_edges(test.edges) + test.increments.astype("<i4").tobytes()


def unpack(section: bytes, dtypes: list[str]) -> DriftTest:
    """The test of a valid section; ``dtypes`` are those of the monitors' raw scores."""
    monitor, bins, alternatives, limit, run_length, *_ = HEAD.unpack_from(section)
    edges = unpack_edges(section, HEAD.size, bins - 1, dtypes[monitor])
    at = HEAD.size + EDGE_BYTES * (bins - 1)
    increments = np.frombuffer(section, "<i4", alternatives * bins, at)
    return DriftTest(
        monitor, edges, increments.reshape(alternatives, bins).copy(), limit, run_length
    )
