"""A feature map's channel means: the same from a recording and from a program."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Tap
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.recording import recording
from edgemon.compiler.recording.recording import Recording

ROWS, CHANNELS, POSITIONS = 40, 3, 20


def recorded(folder: Path, tap: Tap, seed: int = 0) -> Recording:
    rng = np.random.default_rng(seed)
    low = 0 if tap.dtype == "uint8" else -128
    codes = rng.integers(low, 128, (ROWS, tap.length)).astype(tap.dtype)
    file = RowFile.create(folder / "tap.npy", codes.shape, tap.dtype)
    file.write(0, codes)
    return Recording(
        (tap,), (file,), np.arange(ROWS), np.zeros(ROWS, np.int32), np.zeros(ROWS, np.int64), 2
    )


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_channel_means_of_recording_and_program_agree(
    tmp_path: Path, dtype: str, first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recording, "BLOCK_ELEMENTS", 7 * CHANNELS * POSITIONS)  # several blocks
    scale, zero = (1.0, 0) if dtype == "float32" else (0.25, -7)
    size = CHANNELS * POSITIONS
    tap = Tap("map", dtype, size, scale, zero, channels=CHANNELS, channels_first=first)
    rows = recorded(tmp_path, tap)
    shape = (ROWS, CHANNELS, POSITIONS) if first else (ROWS, POSITIONS, CHANNELS)
    expected = rows.values("map").reshape(shape).mean(axis=2 if first else 1)
    assert tap.width == CHANNELS
    np.testing.assert_allclose(rows.features("map"), expected, rtol=1e-12)
    np.testing.assert_array_equal(rows.features("map", [5, 2]), rows.features("map")[[5, 2]])
    b = Builder([tap], real=True)
    means = b.features("map")
    assert b.value(means).length == CHANNELS
    b.node("max", means)
    predicted = b.node("argmax", means)
    program = b.program(predicted, [])
    assert [node.op for node in program.nodes] == ["reduce", "max", "argmax"]  # and no table
    values = reference.run_real(program, [rows.values("map")])
    np.testing.assert_allclose(values[means], expected, rtol=1e-12)
    device = quantise(program)
    found, overflow = reference.run_device(device, [np.asarray(rows.codes("map"))])
    assert not overflow.any()
    np.testing.assert_array_equal(found[device.predicted][:, 0], expected.argmax(axis=1))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "float32"])
@given(rows=st.integers(1, 4), columns=st.integers(1, 3), channels=st.integers(1, 5))
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_means_of_bands_are_those_of_their_rows(
    tmp_path_factory: pytest.TempPathFactory, dtype: str, rows: int, columns: int, channels: int, *,
    first: bool,
) -> None:  # fmt: skip
    """Positions lie row by row, whichever axis has the channels: recording, real and device program
    agree with the mean over a block of rows of the image."""
    bands, size = 3, 3 * rows * columns * channels
    scale, zero = (1.0, 0) if dtype == "float32" else (0.25, 3)
    tap = Tap("map", dtype, size, scale, zero, channels=channels, channels_first=first)
    given_rows = recorded(tmp_path_factory.mktemp("bands"), tap)
    values = given_rows.values("map")
    images = values.reshape(
        ROWS, *((channels, 3 * rows, columns) if first else (3 * rows, columns, channels))
    )
    images = images.transpose(0, 2, 3, 1) if first else images
    expected = np.concatenate(
        [images[:, k * rows : (k + 1) * rows].mean(axis=(1, 2)) for k in range(bands)], axis=1
    )
    np.testing.assert_allclose(given_rows.features("map", bands=bands), expected, atol=1e-12)
    b = Builder([tap], real=True)
    means = b.features("map", bands=bands)
    predicted = b.node("argmax", means)
    program = b.program(predicted, [])
    np.testing.assert_allclose(reference.run_real(program, [values])[means], expected, atol=1e-12)
    device = quantise(program)
    found, overflow = reference.run_device(device, [np.asarray(given_rows.codes("map"))])
    assert not overflow.any()
    chosen = found[device.predicted][:, 0]
    largest = np.take_along_axis(expected, chosen[:, None], axis=1)[:, 0]
    np.testing.assert_allclose(largest, expected.max(axis=1), atol=1e-5)


def test_a_vector_is_its_own_feature(tmp_path: Path) -> None:
    tap = Tap("v", "int8", 6, 0.5, 1)
    rows = recorded(tmp_path, tap)
    np.testing.assert_array_equal(rows.features("v"), rows.values("v"))
    assert Builder([tap], real=True).features("v") == 0
