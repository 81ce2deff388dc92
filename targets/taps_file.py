"""Recorded taps in one file, for ``edgemon-bench`` on a device (runtime/c/bench/taps_file.h)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import DTYPES, TapInfo
from edgemon.runtime.views import VIEWS
from edgemon.targets.harness_lines import Rows, packed

MAGIC, VERSION = b"\x8eEMTAP\r\n", 1


def taps_file(taps: Sequence[TapInfo], rows: Rows, results: Sequence[tuple[bytes, int]]) -> bytes:
    """The file's bytes. ``rows``: (n, length) of each tap, n at least 1. ``results``: of each
    artifact that may be run on them its bytes, and the CRC-32 of what the reference makes of the
    rows."""
    codes = {name: code for code, name in DTYPES.items()}
    data = packed(rows)
    names, records = b"", b""
    for tap in taps:
        records += struct.pack(
            "<4I", codes[tap.dtype], tap.length, VIEWS.index(tap.view), len(names)
        )
        names += tap.name.encode() + b"\0"
    for artifact, crc in results:
        records += struct.pack("<2I", zlib.crc32(artifact), crc)
    names += bytes(-len(names) % 8)
    head = MAGIC + struct.pack(
        "<6I", VERSION, len(data), data.shape[1], len(taps), len(results), len(names)
    )
    whole = head + records + names + data.tobytes()
    return whole + struct.pack("<I", zlib.crc32(whole))


def results_crc(found: Evaluation) -> int:
    """CRC-32 of all results, row by row: reason, class and verdict, and of each monitor verdict
    and score. As ``results_crc`` in C."""
    fields: list[tuple[str, str]] = [("reason", "<i4"), ("predicted", "<i4"), ("verdict", "u1")]
    for i in range(len(found.scores)):
        fields += [(f"verdict{i}", "u1"), (f"score{i}", "<u8")]
    table = np.zeros(len(found.verdict), np.dtype(fields))
    for name in ("reason", "predicted", "verdict"):
        table[name] = getattr(found, name)
    for i, own in enumerate(found.scores):
        table[f"verdict{i}"] = found.verdicts[:, i]
        table[f"score{i}"] = _bits(own)
    return zlib.crc32(table.tobytes())


def _bits(scores: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    if scores.dtype == np.float32:
        return np.ascontiguousarray(scores).view(np.uint32).astype(np.uint64)
    return scores.astype(np.int64).view(np.uint64)
