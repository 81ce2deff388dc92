from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from edgemon.compiler.data.row_file import RowFile, RowWriter, read_header
from edgemon.compiler.errors import DataError


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.integers(0, 29), max_size=40),
    st.sampled_from(["u1", "<i2", ">f4", "<f8", "?"]),
    st.sampled_from([(), (3,), (2, 5)]),
)
def test_any_rows_in_any_order_equal_numpys(
    tmp_path: Path, rows: list[int], dtype: str, shape: tuple[int, ...]
) -> None:
    values = np.random.default_rng(0).integers(0, 100, (30, *shape)).astype(dtype)
    np.save(tmp_path / "x.npy", values)
    found = RowFile.open(tmp_path / "x.npy").read(np.array(rows, np.int64))
    np.testing.assert_array_equal(found, values[rows])


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_written_rows_are_where_they_belong_and_numpy_reads_them(
    tmp_path: Path, dtype: str
) -> None:
    file = RowFile.create(tmp_path / "x.npy", (6, 2), dtype)
    file.write(4, np.array([[1, 2], [3, 4]], dtype))
    expected = np.zeros((6, 2), dtype)
    expected[4:] = [[1, 2], [3, 4]]
    np.testing.assert_array_equal(np.load(tmp_path / "x.npy"), expected)
    np.testing.assert_array_equal(RowFile.open(tmp_path / "x.npy").read(np.arange(6)), expected)


def test_a_writer_counts_its_rows(tmp_path: Path) -> None:
    with RowWriter(tmp_path / "x.npy", (2,), np.float32) as writer:
        writer.append(np.ones((3, 2)))
        writer.append(np.zeros((1, 2)))
    assert np.load(tmp_path / "x.npy").tolist() == [[1, 1]] * 3 + [[0, 0]]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        (np.array([{}, []], dtype=object), "pickle"),
        (np.array(3), "single value"),
        (np.asfortranarray(np.zeros((3, 4))), "Fortran"),
    ],
)
def test_what_cannot_be_read_by_rows_is_refused(values: np.ndarray, says: str) -> None:
    stream = io.BytesIO()
    np.save(stream, values)
    stream.seek(0)
    with pytest.raises(DataError, match=says):
        read_header(stream, "x.npy")


def test_a_cut_file_and_a_foreign_one_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.npy"
    np.save(path, np.zeros((100, 3)))
    whole = path.read_bytes()
    for content, says in (
        (whole[:-1], "cut off"),
        (b"PK\3\4 no array", "no .npy array"),
        (b"", "no .npy"),
    ):
        path.write_bytes(content)
        with pytest.raises(DataError, match=says):
            RowFile.open(path)


def _header(shape: str, *, descr: str = "|u1", padding: int = 0) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}}}" + " " * padding
    return b"\x93NUMPY\2\0" + len(text).to_bytes(4, "little") + text.encode()


@pytest.mark.parametrize(
    ("header", "says"),
    [
        (_header("(10000000000, 0)"), "at least one value"),
        (_header("(-5, 3)"), "at least one value"),
        (_header("(5, -3)"), "at least one value"),
        (_header("(5,)", descr="|S0"), "at least one value"),
        (_header("(2, 6000000000)"), "at most 256 MiB"),
        (_header("(2, 2)", padding=20_000), "save an array of plain numbers"),
        (b"\x93NUMPY\2\0\xff\xff\xff\xff", "4294967295 bytes"),
        (_header("(" * 500), "is no .npy array"),
        (_header("(2, 2", descr="'\""), "is no .npy array"),
        (_header("(2, 2)", descr="|Q77"), "is no .npy array"),
    ],
)
def test_a_header_is_not_trusted_with_memory(tmp_path: Path, header: bytes, says: str) -> None:
    path = tmp_path / "x.npy"
    path.write_bytes(header)
    with pytest.raises(DataError, match=says) as error:
        RowFile.open(path)
    assert "\n" not in str(error.value)
