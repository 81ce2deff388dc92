"""The DRIFT section of a flat file: FORMAT.md, section 13."""

from __future__ import annotations

import struct

import numpy as np

from edgemon.compiler.promise.drift.detector import DriftTest

HEAD = struct.Struct("<IIIiI3I")
EDGE_BYTES = 8  # a float32 lies in the first four


def pack(test: DriftTest) -> bytes:
    """The section of a test."""
    alternatives, bins = test.increments.shape
    head = HEAD.pack(test.monitor, bins, alternatives, test.limit, test.run_length, 0, 0, 0)
    edges = np.zeros(bins - 1, "<i8")
    if test.edges.dtype == np.float32:
        edges.view("<f4")[::2] = test.edges
    else:
        edges[:] = test.edges
    return head + edges.tobytes() + test.increments.astype("<i4").tobytes()


def unpack(section: bytes, dtypes: list[str]) -> DriftTest:
    """The test of a valid section; ``dtypes`` are those of the monitors' raw scores."""
    monitor, bins, alternatives, limit, run_length, *_ = HEAD.unpack_from(section)
    edges = np.frombuffer(section, "<i8", bins - 1, HEAD.size)
    if dtypes[monitor] == "float32":
        edges = edges.view("<f4")[::2]
    at = HEAD.size + EDGE_BYTES * (bins - 1)
    increments = np.frombuffer(section, "<i4", alternatives * bins, at)
    return DriftTest(
        monitor, edges.copy(), increments.reshape(alternatives, bins).copy(), limit, run_length
    )
