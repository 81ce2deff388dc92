"""An array ``columns`` of an .npz whose header is not to be trusted."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.data.arrays import read_npz
from edgemon.compiler.data.row_range import RowRange
from edgemon.compiler.errors import DataError


def archive(folder: Path, dtype: str, shape: tuple[int, ...]) -> Path:
    path, head = folder / "rows.npz", io.BytesIO()
    np.savez(path, x=np.zeros((4, 2)), y=np.zeros(4, int))
    said = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(head, said)
    with zipfile.ZipFile(path, "a") as file:
        file.writestr("columns.npy", head.getvalue() + bytes(64))
    return path


@pytest.mark.parametrize(
    ("dtype", "shape", "says"),
    [
        ("<U1000", (10**10,), None),  # not the width: no names of columns
        ("<i8", (2,), None),
        ("<U1000000", (2,), "1 to 256"),
        ("<U200", (2,), "cut off"),
    ],
)
def test_a_header_of_columns_that_asks_for_all_memory_reserves_none(
    dtype: str, shape: tuple[int, ...], says: str | None, tmp_path: Path
) -> None:
    path = archive(tmp_path, dtype, shape)
    rows = RowRange(None, None, str(path))
    if says is None:
        assert read_npz(path, rows, tmp_path, None).features is None
    else:
        with pytest.raises(DataError, match=says):
            read_npz(path, rows, tmp_path, None)
