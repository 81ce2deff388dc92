"""Deviations of bytes are computed side by side in C, by their number of positions in several ways;
weighted sums of what has few bits in 16: the same numbers as the reference's, and as exact ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.runtime.monitor import Monitor as LoadedMonitor

ROWS = 12
CHANNELS = [1, 16, 17, 40]


def maps(dtype: str, positions: int, channels: int) -> npt.NDArray[Any]:
    """Rows (n, positions * channels): the ends of the type in all proportions, and random codes."""
    info, rng = np.iinfo(dtype), np.random.default_rng(positions + channels)
    found = rng.integers(info.min, info.max, (ROWS, positions, channels), endpoint=True)
    ends = rng.random((ROWS // 2, positions, channels)) < rng.random((ROWS // 2, 1, channels))
    found[: ROWS // 2] = np.where(ends, info.min, info.max)
    found[0], found[1], found[2] = info.min, info.max, info.min
    found[2, : positions // 2] = info.max  # the largest deviation there is
    return found.reshape(ROWS, -1).astype(dtype)


def program_of(
    op: str, dtype: str, positions: int, channels: int
) -> tuple[Program, npt.NDArray[np.int16]]:
    """A score for each of two weighted sums over the channels, and the weights."""
    b = Builder([Tap("map", dtype, positions * channels, 1.0, 0)])
    found = b.node(op, 0, tables=[np.array([channels], np.uint32)])
    weights = np.random.default_rng(channels).integers(-63, 64, (2, channels), np.int16)
    scores = [
        b.node("affine", found, tables=[w.copy(), np.array([5 * i], np.int32)])
        for i, w in enumerate(weights)
    ]
    monitors = [Monitor(f"m{i}", score, 0, 0) for i, score in enumerate(scores)]
    return b.program(b.node("argmax", found), monitors), weights


def in_c(program: Program, rows: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Raw scores (n, 2): those of the reference too."""
    loaded = LoadedMonitor(flat.write(flat.Artifact(program, flat.NO_MODEL, {})))
    found = loaded.evaluate([rows]).scores
    for mine, its in zip(reference.evaluate(program, [rows]).scores, found, strict=True):
        np.testing.assert_array_equal(its, mine)
    return np.column_stack(found)


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize(
    "positions", [1, 2, 3, 7, 49, 64, 90, 91, 127, 128, 129, 255, 256, 257, 300, 512, 1024, 4097]
)
def test_deviations_of_bytes(positions: int, dtype: str, channels: int) -> None:
    program, weights = program_of("deviation", dtype, positions, channels)
    rows = maps(dtype, positions, channels)
    exact = np.array([
        [
            math.isqrt(4 * (positions * sum(v * v for v in own) - sum(own) ** 2) // positions**2)
            for own in row.reshape(positions, channels).T.tolist()
        ]
        for row in rows
    ])  # fmt: skip
    assert exact.max() == (255 if positions % 2 == 0 else exact[2].max())
    np.testing.assert_array_equal(in_c(program, rows), exact @ weights.T + [0, 5])


@pytest.mark.parametrize("channels", CHANNELS)
@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("positions", [1, 64, 65, 127, 128, 129, 256, 257, 300])
def test_sums_of_any_bits_are_weighted(positions: int, dtype: str, channels: int) -> None:
    """Those of at most 14 bits are narrowed to 16: int8 over 128 positions, uint8 over 64."""
    program, weights = program_of("reduce", dtype, positions, channels)
    rows = maps(dtype, positions, channels)
    sums = rows.reshape(ROWS, positions, channels).astype(np.int64).sum(axis=1)
    np.testing.assert_array_equal(in_c(program, rows), sums @ weights.T + [0, 5])


@pytest.mark.parametrize("positions", [1 << 15, (1 << 15) + 1, 34000])
def test_squares_of_many_bytes_do_not_wrap(positions: int) -> None:
    """The reference adds up to 2^15 of them in 32 bits, whose sum 33,027 squares of 255 exceed."""
    program, weights = program_of("deviation", "uint8", positions, 1)
    ups = np.array([0, 1, positions // 2, positions])
    rows = np.where(np.arange(positions) < ups[:, None], 255, 0).astype(np.uint8)
    exact = [
        math.isqrt(4 * (positions * k * 255**2 - (k * 255) ** 2) // positions**2)
        for k in ups.tolist()
    ]
    expected = np.outer(exact, weights[:, 0]) + np.array([0, 5])
    np.testing.assert_array_equal(in_c(program, rows), expected)
