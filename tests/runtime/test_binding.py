"""The extension `_native`, on an artifact that this file writes byte by byte.

The writer here follows FORMAT.md and shares nothing with compiler/emit/flat.py: where the two
disagree, one of them is wrong.
"""

from __future__ import annotations

import struct
import sys
import threading
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.runtime import _native

Array = npt.NDArray[Any]

NONE = 0xFFFFFFFF
I8, I32, F32 = 1, 4, 6
ARGMAX, MAX = 1, 2
TAP_COUNT, TAP_TYPE, TAP_LENGTH, TAP_VALUE = -24, -25, -26, -27
SHA256 = bytes(range(32))


def padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 16)


def tap(dtype: int, length: int, scale: float, zero_point: int, view: int) -> bytes:
    return struct.pack("<IHHIidII", 0, dtype, view, length, zero_point, scale, 0, 0)


def node(op: int, dtype: int, x: int, bits: int, offset: int) -> bytes:
    return struct.pack("<HHIIIIHHII", op, dtype, 1, x, NONE, NONE, 0, bits, offset, 0)


def monitor(score: int, thresholds: bytes, scale: float) -> bytes:
    return struct.pack("<II16sIIdII", 6, score, thresholds, 0, 0, scale, 0, 0)


def vector() -> bytes:
    """One self-test vector: class 2, trust."""
    taps = padded(struct.pack("<4b", 1, 2, 9, 2)) + padded(struct.pack("<2f", 0.5, 0.25))
    expected = struct.pack("<IiiIqfI", 0, 2, 0, 0, 9, 0.5, 0) + struct.pack("<II", 0, 0)
    return taps + padded(expected)


def drift_section() -> bytes:
    """Watches monitor 1: one edge at 1.5, one alternative, limit 10, promised 1000 images."""
    head = struct.pack("<IIIiI3I", 1, 2, 1, 10, 1000, 0, 0, 0)
    return head + struct.pack("<fI", 1.5, 0) + struct.pack("<2i", -3, 4)


def artifact(
    self_test: bytes | None = None,
    metadata: bytes = b'{"a": 1}',
    drift: bytes = b"",
    view: int = 1,
) -> bytes:
    """Taps i8[4] and, of the mirrored image, f32[2]; the monitors are their largest elements.

    Alarm above 50 (uncertain above 20) and above 2.0 (1.0).
    """
    vectors = vector() if self_test is None else self_test
    sections = {
        1: struct.pack("<8I", 2, 3, 0, 2, 2, 24, 0, 0),
        2: tap(I8, 4, 0.5, -3, 0) + tap(F32, 2, 1.0, 0, view),
        3: node(ARGMAX, I32, 0, 2, 0) + node(MAX, I32, 0, 7, 8) + node(MAX, F32, 1, 0, 16),
        4: b"",
        5: monitor(3, struct.pack("<qq", 50, 20), 0.5)
        + monitor(4, struct.pack("<fIfI", 2.0, 0, 1.0, 0), 1.0),
        6: b"input\0largest\0",
        7: b"",
        0x80000001: struct.pack("<4I", 1, len(vectors), 0, 0) + vectors,
        0x80000002: metadata,
    }
    if drift:
        sections[0x80000003] = drift
    offset, table, body = 64 + 16 * len(sections), b"", b""
    for kind, content in sections.items():
        table += struct.pack("<4I", kind, offset + len(body), len(content), 0)
        body += padded(content)
    size = offset + len(body)
    head = bytes.fromhex("8E454D4F4E0D0A1A") + struct.pack(
        "<HHIIII", 1, 0, 0x01020304, size, len(sections), 0
    )
    rest = SHA256 + table + body
    return head + struct.pack("<I", zlib.crc32(rest, zlib.crc32(head))) + rest


@pytest.fixture
def native() -> _native.Monitor:
    return _native.Monitor(artifact())


def columns(rows: int, monitors: int = 2) -> list[Array]:
    """verdict, reason, predicted, verdicts, scores, filled with what must be overwritten."""
    return [
        np.full(rows, 77, np.uint8),
        np.full(rows, 77, np.int32),
        np.full(rows, 77, np.int32),
        np.full(rows * monitors, 77, np.uint8),
        np.full(rows * monitors, 77, np.int64),
    ]


CODES = np.array([[1, 2, 9, 2], [60, 2, 9, 2], [1, 21, -9, 2]], np.int8)
REALS = np.array([[0.5, 0.25], [-1.0, -2.0], [3.0, 1.0]], np.float32)


def test_describes_itself(native: _native.Monitor) -> None:
    assert native.taps == [("input", I8, 4, 0.5, -3, 0), ("input", F32, 2, 1.0, 0, 1)]
    assert native.monitors == [("largest", I32, 50, 20), ("largest", F32, 2.0, 1.0)]
    assert native.metadata == b'{"a": 1}'
    assert native.workspace_size == 24
    assert 0 < native.struct_size <= 256


@pytest.mark.parametrize(
    ("view", "status"), [(2, -35), (3, -35), (4, -12), (256, -12), (65535, -12)]
)
def test_a_view_that_is_unknown_or_lacks_its_companion_is_refused(view: int, status: int) -> None:
    with pytest.raises(_native.Error) as caught:
        _native.Monitor(artifact(view=view))
    assert caught.value.args[0] == status
    assert _native.Monitor(artifact(view=0)).taps[1][5] == 0


def seen(*scores: float) -> tuple[int, Array, Array]:
    """Rows, verdicts and raw scores, of which the second monitor has these."""
    raw = np.zeros((len(scores), 2), np.int64)
    raw.view(np.float32)[:, 2] = scores
    return len(scores), np.zeros((len(scores), 2), np.uint8), raw


def test_drift_state_is_the_struct_of_c() -> None:
    native = _native.Monitor(artifact(drift=drift_section()))
    assert native.drift == (1, 2, 1, 10, 1000)
    state = np.zeros(37, np.uint32)
    rows, verdicts, scores = seen(1.5, 2.0, 7.0, np.nan, 3.0)
    native.drift_update(state, rows, verdicts, scores)
    # images, faults, flagged at, since, alternative; then the sum, and the image where it began
    assert state[:6].tolist() == [5, 1, 5, 2, 0, 10]
    assert state[21] == 2
    verdicts[0, 1] = 3
    native.drift_update(state, 1, verdicts[:1], scores[:1])
    assert state[:6].tolist() == [6, 2, 5, 2, 0, 10]


def test_drift_refuses_what_does_not_fit(native: _native.Monitor) -> None:
    assert native.drift is None
    state = np.zeros(37, np.uint32)
    native.drift_update(state, *seen(9.0, 9.0))
    assert state.tolist() == [2] + [0] * 36
    with pytest.raises(ValueError, match="drift state has 36 elements"):
        native.drift_update(state[:-1], *seen(9.0))
    with pytest.raises(TypeError, match="drift state must be"):
        native.drift_update(state.view(np.uint16), *seen(9.0))
    rows, verdicts, scores = seen(9.0)
    with pytest.raises(ValueError, match="verdicts has 2 elements, but the batch needs 4"):
        native.drift_update(state, 2, verdicts, scores)
    with pytest.raises(ValueError, match="scores has 1"):
        native.drift_update(state, 1, verdicts, scores[:, 0].copy())
    with pytest.raises(ValueError, match="cannot be negative"):
        native.drift_update(state, -1, verdicts, scores)
    read_only = state.copy()
    read_only.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        native.drift_update(read_only, rows, verdicts, scores)
    assert state[0] == 2


def test_status_methods(native: _native.Monitor) -> None:
    assert native.self_test() == 0
    assert native.check() == 0
    assert native.bind_model(SHA256) == 0
    assert native.bind_model(bytes(32)) == -22
    with pytest.raises(ValueError, match="32 bytes, not 31"):
        native.bind_model(bytes(31))
    with pytest.raises(TypeError):
        native.bind_model("0" * 32)  # type: ignore[arg-type]


def test_self_test_finds_a_difference() -> None:
    wrong = bytearray(vector())
    wrong[2] = 100  # the largest code is now 100
    assert _native.Monitor(artifact(bytes(wrong))).self_test() == -21


def test_a_bad_artifact_is_an_error_with_status_and_text() -> None:
    good = artifact()
    for bad, status in ((b"", -3), (b"no artifact" * 16, -4), (good[:-16], -3)):
        with pytest.raises(_native.Error) as caught:
            _native.Monitor(bad)
        assert caught.value.args == (status, _native.status_text(status))
    with pytest.raises(TypeError):
        _native.Monitor("text")  # type: ignore[arg-type]


def test_every_byte_is_protected() -> None:
    good = bytearray(artifact())
    for i in range(len(good)):
        good[i] ^= 0x10
        with pytest.raises(_native.Error):
            _native.Monitor(good)
        good[i] ^= 0x10
    _native.Monitor(good)


def test_keeps_its_own_copy() -> None:
    data = bytearray(artifact())
    native = _native.Monitor(memoryview(data))
    data[:] = bytes(len(data))
    assert native.check() == 0


def test_evaluates_a_batch(native: _native.Monitor) -> None:
    verdict, reason, predicted, verdicts, scores = out = columns(3)
    native.evaluate([CODES, REALS], 3, *out)
    assert predicted.tolist() == [2, 0, 1]
    assert reason.tolist() == [0, 0, 0]
    assert verdicts.reshape(3, 2).tolist() == [[0, 0], [2, 0], [1, 2]]
    assert verdict.tolist() == [0, 2, 2]
    assert scores[::2].tolist() == [9, 60, 21]
    assert scores[1::2].astype(np.uint32).view(np.float32).tolist() == [0.5, -1.0, 3.0]


def test_not_finite_faults_its_own_row_only(native: _native.Monitor) -> None:
    for bad in (np.nan, np.inf, -np.inf):
        reals = REALS.copy()
        reals[1, 1] = bad
        verdict, reason, predicted, verdicts, scores = out = columns(3)
        native.evaluate([CODES, reals], 3, *out)
        assert reason.tolist() == [0, TAP_VALUE, 0]
        assert verdict.tolist() == [0, 3, 2]
        assert predicted.tolist() == [2, -1, 1]
        assert verdicts[2:4].tolist() == [3, 3]
        assert scores[2:4].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("taps", "reason"),
    [
        ([CODES], TAP_COUNT),
        ([], TAP_COUNT),
        ([CODES] * 40, TAP_COUNT),
        ([CODES.view(np.uint8), REALS], TAP_TYPE),
        ([CODES, REALS.view(np.int32)], TAP_TYPE),
        ([CODES, REALS.astype(np.float64)], TAP_TYPE),
        ([CODES.astype(np.complex64), REALS], TAP_TYPE),
        ([CODES[:, :3].copy(), REALS], TAP_LENGTH),
        ([CODES.ravel()[:-1], REALS], TAP_LENGTH),
        ([CODES, np.zeros((3, 3), np.float32)], TAP_LENGTH),
        ([CODES, np.zeros((0, 2), np.float32)], TAP_LENGTH),
    ],
)
def test_wrong_taps_fault_every_row(
    native: _native.Monitor, taps: list[Array], reason: int
) -> None:
    out = columns(3)
    native.evaluate(taps, 3, *out)
    assert out[0].tolist() == [3, 3, 3]
    assert out[1].tolist() == [reason] * 3
    assert out[2].tolist() == [-1] * 3
    assert set(out[3].tolist()) == {3}
    assert set(out[4].tolist()) == {0}


def test_no_rows(native: _native.Monitor) -> None:
    """Nothing is read or written, and the monitor works as before."""
    out = columns(1)
    untouched = [column.tobytes() for column in out]
    native.evaluate([CODES[:0], REALS[:0]], 0, *(column[:0] for column in out))
    assert [column.tobytes() for column in out] == untouched
    native.evaluate([CODES[:1], REALS[:1]], 1, *out)
    assert [column.tobytes() for column in out] != untouched


def test_bytes_and_tuples_are_buffers_too(native: _native.Monitor) -> None:
    out = columns(1)
    native.evaluate((memoryview(CODES[0]), REALS[0]), 1, *out)
    assert out[2].tolist() == [2]


@pytest.mark.parametrize("position", range(5))
def test_output_columns_are_checked(native: _native.Monitor, position: int) -> None:
    def call(column: object) -> None:
        out: list[Any] = columns(3)
        out[position] = column
        native.evaluate([CODES, REALS], 3, *out)

    good = columns(3)[position]
    with pytest.raises(ValueError, match="elements, but the batch needs"):
        call(good[:-1])
    with pytest.raises(TypeError, match="must be an aligned array of"):
        call(good.astype(np.float64 if good.itemsize == 8 else np.float32))
    frozen = good.copy()
    frozen.flags.writeable = False
    with pytest.raises((BufferError, ValueError)):
        call(frozen)
    with pytest.raises((BufferError, ValueError)):
        call(np.repeat(good, 2)[::2])
    with pytest.raises(TypeError):
        call(None)


def test_bad_arguments_of_evaluate(native: _native.Monitor) -> None:
    out = columns(3)
    with pytest.raises(ValueError, match="rows is -1"):
        native.evaluate([CODES, REALS], -1, *out)
    with pytest.raises(TypeError):
        native.evaluate(3, 3, *out)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        native.evaluate([CODES, "text"], 3, *out)  # type: ignore[list-item]
    with pytest.raises((BufferError, ValueError)):
        native.evaluate([np.repeat(CODES, 2, axis=1)[:, ::2], REALS], 3, *out)
    shifted = np.frombuffer(bytes(25), np.uint8)[1:].view(np.float32)
    assert not shifted.flags.aligned
    with pytest.raises(ValueError, match="tap 1 is not aligned"):
        native.evaluate([CODES, shifted], 3, *out)


def test_arguments_do_not_leak(native: _native.Monitor) -> None:
    codes, reals, out = CODES.copy(), REALS.copy(), columns(3)
    short = [*out[:4], out[4][:-1]]
    watched = [codes, reals, *out]
    before = [sys.getrefcount(x) for x in watched]
    for _ in range(100):
        native.evaluate([codes, reals], 3, *out)
        with pytest.raises(ValueError, match="rows is"):
            native.evaluate([codes, reals], -1, *out)
        with pytest.raises(ValueError, match="elements"):
            native.evaluate([codes, reals], 3, *short)
    assert [sys.getrefcount(x) for x in watched] == before
    codes.resize((1, 4), refcheck=False)  # fails if a buffer were still exported


def test_threads_share_a_monitor(native: _native.Monitor) -> None:
    rng = np.random.default_rng(0)
    codes = rng.integers(-128, 128, (2000, 4)).astype(np.int8)
    reals = rng.normal(size=(2000, 2)).astype(np.float32)
    results = [columns(2000) for _ in range(4)]
    threads = [
        threading.Thread(target=native.evaluate, args=([codes, reals], 2000, *out))
        for out in results
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for out in results:
        np.testing.assert_array_equal(out[2], codes.argmax(axis=1))
        np.testing.assert_array_equal(out[4], results[0][4])


def test_display(native: _native.Monitor) -> None:
    assert native.display(0, 9) == 4.5
    assert native.display(1, 0.25) == 0.25
    with pytest.raises(IndexError, match="no monitor 2"):
        native.display(2, 0)
    with pytest.raises(IndexError, match="no monitor -1"):
        native.display(-1, 0)
    with pytest.raises(TypeError):
        native.display(0, 1.5)
    with pytest.raises(OverflowError):
        native.display(0, 1 << 63)
    with pytest.raises(ValueError, match="finite float32"):
        native.display(1, 1e39)


def test_nanoseconds(native: _native.Monitor) -> None:
    times = native.nanoseconds([CODES, REALS], 3, 5)
    assert len(times) == 5
    assert all(0 <= ns < 1e6 for ns in times)
    with pytest.raises(_native.Error, match="number of taps"):
        native.nanoseconds([CODES], 3, 1)
    with pytest.raises(ValueError, match="rows must be"):
        native.nanoseconds([CODES, REALS], 0, 1)


def test_status_text() -> None:
    assert _native.status_text(0) == "ok"
    assert _native.status_text(-7) == "checksum mismatch: the artifact is corrupt"
    assert _native.status_text(1) == _native.status_text(-(2**40)) == "unknown status"
