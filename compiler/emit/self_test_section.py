"""The SELF_TEST section of a flat file: FORMAT.md, section 11."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.emit.alignment import PART, padded, round_up
from edgemon.compiler.emit.raw_scores import pack_score
from edgemon.compiler.program.ir import Program
from edgemon.runtime.evaluation import Evaluation

Array = npt.NDArray[Any]

HEAD = struct.Struct("<IIII")
EXPECTED = struct.Struct("<IiiI")  # in front of the raw scores, and these of the verdicts


def pack(program: Program, taps: tuple[Array, ...], expected: Evaluation) -> bytes:
    """The section of inputs (n rows a tap) and their exact results."""
    vectors = []
    for row in range(len(expected.verdict)):
        inputs = b"".join(padded(x[row].tobytes()) for x in taps)
        results = EXPECTED.pack(
            expected.verdict[row], expected.predicted[row], expected.reason[row], 0
        )
        for m, score in zip(program.monitors, expected.scores, strict=True):
            results += pack_score(score[row].item(), program.value(m.score).dtype)
        results += expected.verdicts[row].astype("<u4").tobytes()
        vectors.append(inputs + padded(results))
    head = HEAD.pack(len(vectors), len(vectors[0]), 0, 0)
    return head + b"".join(vectors)


def unpack(program: Program, section: bytes) -> tuple[tuple[Array, ...], Evaluation]:
    """Inputs and results of a valid section."""
    count, stride, _, _ = HEAD.unpack_from(section)
    rows = np.frombuffer(section, np.uint8, count * stride, HEAD.size).reshape(count, stride)
    taps, at = [], 0
    for tap in program.taps:
        size = tap.length * np.dtype(tap.dtype).itemsize
        taps.append(np.ascontiguousarray(rows[:, at : at + size]).view(tap.dtype))
        at += round_up(size, PART)

    def column(offset: int, dtype: str) -> Array:
        width = np.dtype(dtype).itemsize
        return np.ascontiguousarray(rows[:, offset : offset + width]).view(dtype)[:, 0]

    scores = []
    for index, m in enumerate(program.monitors):
        dtype = program.value(m.score).dtype
        stored = "float32" if dtype == "float32" else "int64"
        scores.append(column(at + EXPECTED.size + 8 * index, stored).astype(dtype))
    verdicts_at = at + EXPECTED.size + 8 * len(program.monitors)
    verdicts = [column(verdicts_at + 4 * i, "uint32") for i in range(len(program.monitors))]
    expected = Evaluation(
        column(at, "uint32").astype(np.uint8),
        column(at + 8, "int32"),
        column(at + 4, "int32"),
        np.stack(verdicts, axis=1).astype(np.uint8),
        tuple(scores),
    )
    return tuple(taps), expected
