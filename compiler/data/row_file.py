"""An uncompressed .npy file of rows that is read and written in pieces.

Not memory-mapped: the pages of a mapping count as memory of the process, and they would grow
with the data.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from edgemon.compiler.errors import DataError

Array = npt.NDArray[Any]

READABLE = "buif"  # NumPy's kinds: booleans, integers, floats
LARGEST_ROW_BYTES = 1 << 28
_HEADER_BYTES = 256
_LONGEST_HEADER = 10_000  # bytes; NumPy refuses longer ones too, but only after reading them


@dataclass(frozen=True)
class Header:
    """What a .npy says about itself: ``shape`` with the rows first."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def row_bytes(self) -> int:
        return math.prod(self.shape[1:]) * self.dtype.itemsize

    def to_bytes(self) -> bytes:
        """A version 1.0 header of fixed length, so that it can be rewritten in place."""
        text = repr({"descr": self.dtype.str, "fortran_order": False, "shape": self.shape})
        return (
            npy.magic(1, 0)
            + (_HEADER_BYTES - 10).to_bytes(2, "little")
            + (text.ljust(_HEADER_BYTES - 11).encode() + b"\n")
        )


def read_header(file: IO[bytes], name: str) -> Header:
    """Read the header of a .npy stream, which is left at the first row. Raises DataError."""
    shape, fortran, dtype = parse_header(file, name)
    if dtype.hasobject:
        raise DataError(
            f"{name}: holds Python objects (a pickle), which edgemon does not load; "
            "save an array of numbers"
        )
    if not shape:
        raise DataError(f"{name}: is a single value; edgemon needs one row an image")
    if fortran and sum(n > 1 for n in shape) > 1:
        raise DataError(
            f"{name}: is stored in Fortran order, where rows cannot be read one by one; "
            "save numpy.ascontiguousarray(x)"
        )
    header = Header(tuple(int(n) for n in shape), dtype)
    if min(header.shape) < 0 or not 0 < header.row_bytes <= LARGEST_ROW_BYTES:
        raise DataError(
            f"{name}: has the shape {header.shape} of {dtype}; a row needs at least one value and "
            f"at most {LARGEST_ROW_BYTES >> 20} MiB"
        )
    return header


def parse_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, Fortran order and dtype of a .npy stream, as it says; nothing is reserved for it."""
    try:
        version = npy.read_magic(file)
        size = file.read(2 if version == (1, 0) else 4)
        length = int.from_bytes(size, "little")
        if version in ((1, 0), (2, 0)) and length <= _LONGEST_HEADER:
            header = io.BytesIO(size + file.read(length))
            read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
            return read(header)
    except (OSError, EOFError):
        raise
    except Exception:
        # NumPy evaluates the header as Python text: a damaged one has errors of many kinds.
        raise DataError(f"{name}: is no .npy array; save it with numpy.save") from None
    raise DataError(
        f"{name}: has a .npy header that edgemon does not read (version {version[0]}, "
        f"{length} bytes); save an array of plain numbers with numpy.save"
    )


@dataclass(frozen=True)
class RowFile:
    """Rows of one shape and dtype at ``path``, from byte ``start`` on."""

    path: Path
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    start: int

    @classmethod
    def open(cls, path: Path) -> RowFile:
        """Read the header, and check that the file is as long as it says. Raises DataError."""
        try:
            with path.open("rb") as file:
                header = read_header(file, str(path))
                start = file.tell()
                size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise DataError(f"{path}: cannot be read: {error.strerror}") from None
        if size < start + header.shape[0] * header.row_bytes:
            raise DataError(f"{path}: is shorter than its header says; it was cut off")
        return cls(path, header.shape, header.dtype, start)

    @classmethod
    def create(cls, path: Path, shape: tuple[int, ...], dtype: npt.DTypeLike) -> RowFile:
        """A new file of zeros."""
        header = Header(shape, np.dtype(dtype))
        with path.open("wb") as file:
            file.write(header.to_bytes())
            file.truncate(_HEADER_BYTES + shape[0] * header.row_bytes)
        return cls(path, shape, header.dtype, _HEADER_BYTES)

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def row_bytes(self) -> int:
        return Header(self.shape, self.dtype).row_bytes

    def read(self, rows: npt.NDArray[np.integer[Any]]) -> Array:
        """These rows, in this order; neighbours are read together."""
        out = np.empty((len(rows), *self.shape[1:]), self.dtype)
        flat = out.reshape(-1).view(np.uint8).data
        with self.path.open("rb", buffering=0) as file:
            for first, end in _runs(rows):
                file.seek(self.start + int(rows[first]) * self.row_bytes)
                piece = flat[first * self.row_bytes : end * self.row_bytes]
                while piece:
                    count = file.readinto(piece)
                    if not count:
                        raise DataError(f"{self.path}: was cut off while it was in use")
                    piece = piece[count:]
        return out

    def write(self, first: int, values: Array) -> None:
        """Put rows at ``first`` and after."""
        content = np.ascontiguousarray(values, self.dtype)
        with self.path.open("r+b", buffering=0) as file:
            file.seek(self.start + int(first) * self.row_bytes)
            piece = content.reshape(-1).view(np.uint8).data
            while piece:
                piece = piece[file.write(piece) :]


class RowWriter:
    """Writes rows whose number is not known before the end. A context manager."""

    def __init__(self, path: Path, row_shape: tuple[int, ...], dtype: npt.DTypeLike) -> None:
        self._path, self._row_shape, self._dtype = path, row_shape, np.dtype(dtype)
        self._rows = 0

    def __enter__(self) -> RowWriter:
        self._file = self._path.open("wb")
        self._file.write(bytes(_HEADER_BYTES))
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.seek(0)
        self._file.write(Header((self._rows, *self._row_shape), self._dtype).to_bytes())
        self._file.close()

    def append(self, values: Array) -> None:
        """Add rows, shape (n, *row_shape)."""
        self._file.write(np.ascontiguousarray(values, self._dtype).data)
        self._rows += len(values)


def _runs(rows: npt.NDArray[np.integer[Any]]) -> Iterator[tuple[int, int]]:
    """Positions (first, end) between which the row numbers count up by one."""
    if len(rows):
        breaks = np.flatnonzero(np.diff(rows) != 1) + 1
        edges = [0, *breaks.tolist(), len(rows)]
        yield from pairwise(edges)
