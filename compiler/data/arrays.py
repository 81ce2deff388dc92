"""NumPy files: .npy is used where it lies, .npz is unpacked in blocks."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.groups import Column, Groups, columns_of, joined, numbers_of, one_column
from edgemon.compiler.data.labels import LabelReader, Labels, Named
from edgemon.compiler.data.named_columns import places, say_left_out
from edgemon.compiler.data.row_file import (
    READABLE,
    Header,
    RowFile,
    RowWriter,
    parse_header,
    read_header,
)
from edgemon.compiler.data.row_range import RowRange
from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Progress, Warn
from edgemon.runtime.errors import EdgemonError

BLOCK_BYTES = 4 << 20
FREELY_INFLATED_BYTES = 8 << 20
MOST_INFLATED = 200  # times; photographs and tables inflate 1 to 20 times, zeros a thousand
COLUMNS = "columns"
LONGEST_NAME = 1024  # bytes, four a character
PAIRS = (
    ("x", "y"),
    ("X", "y"),
    ("images", "labels"),
    ("data", "target"),
    ("data", "labels"),
    ("features", "labels"),
    ("x_test", "y_test"),
    ("X_test", "y_test"),
    ("test_images", "test_labels"),
    ("x_train", "y_train"),
    ("X_train", "y_train"),
    ("train_images", "train_labels"),
)
_SETS = {name for pair in PAIRS for name in pair}


@dataclass(frozen=True, eq=False)
class Loaded:
    """A .npy of rows, which of them are meant, their labels, and the names of classes where
    labels are words. Row 0 of the .npy is row ``first_row`` of what the user named. ``groups`` are
    those of the rows that are meant."""

    x: Path
    rows: npt.NDArray[np.int64]
    y: Labels | None
    class_names: tuple[str, ...] | None = None
    first_row: int = 0
    groups: Groups | None = None
    features: tuple[str, ...] | None = None  # the columns of a table that has names for them
    files: tuple[str, ...] | None = None  # of each row of the .npy, where each was a file


def read_npy(x: Path, y: Path | None, rows: RowRange) -> Loaded:
    """A pair of .npy files, or images alone. Nothing is copied."""
    file = RowFile.open(x)
    _require_numbers(str(x), file.dtype)
    wanted = rows.of(len(file))
    labels, names = None, None
    if y is not None:
        with readable(y), y.open("rb") as stream:
            labels, names = _read_labels(stream, str(y), len(file), wanted, rows.source)
    return Loaded(x, np.arange(wanted.start, wanted.stop), labels, names)


def read_npz(
    path: Path, rows: RowRange, folder: Path, progress: Progress | None, group: str | None = None,
    warn: Warn = lambda _: None, features: tuple[str, ...] | None = None,
) -> Loaded:  # fmt: skip
    """The images and labels of an .npz, and the groups that ``group`` names (see
    ``groups.columns_of``); the wanted rows are unpacked to ``folder``. An array ``columns`` has the
    names of a table's columns, by which those that are ``features`` are found."""
    with readable(path), zipfile.ZipFile(path) as archive:
        keys = [n.removesuffix(".npy") for n in archive.namelist() if n.endswith(".npy")]
        images, labels = _keys(path, keys)
        others = [k for k in keys if k in _SETS and k not in (images, labels)]
        if others:
            warn(f"{path}: {images} and {labels} are read, and not {', '.join(others)}")
        columns = () if group is None else columns_of(group, keys, str(path))
        for name in filter(None, (images, labels, *(c.name for c in columns))):
            require_inflatable(archive.getinfo(f"{name}.npy"), path)
        with archive.open(f"{images}.npy") as stream:
            header = read_header(stream, f"{path} ({images})")
            _require_numbers(f"{path} ({images})", header.dtype)
            wanted = rows.of(header.shape[0])
            y, names = None, None
            if labels is not None:
                with archive.open(f"{labels}.npy") as other:
                    y, names = _read_labels(
                        other, f"{path} ({labels})", header.shape[0], wanted, rows.source
                    )
            groups = _groups(archive, columns, header.shape[0], wanted, path) if columns else None
            stream.seek(wanted.start * header.row_bytes, os.SEEK_CUR)
            x = _unpack(stream, header, len(wanted), folder / "x.npy", progress)
        called = _column_names(archive, keys, header, path)
    if called is not None and features is not None:
        found = places(str(path), called, features)
        if found is not None:
            say_left_out(str(path), called, found, warn)
            x, called = _reordered(x, found, folder), features
    return Loaded(x, np.arange(len(wanted)), y, names, wanted.start, groups, called)


def _column_names(
    archive: zipfile.ZipFile, keys: list[str], header: Header, path: Path
) -> tuple[str, ...] | None:
    """A name for each column of a table, if the archive says that; whatever else is called
    ``columns`` is none."""
    if COLUMNS not in keys or len(header.shape) != 2:
        return None
    require_inflatable(archive.getinfo(f"{COLUMNS}.npy"), path)
    with archive.open(f"{COLUMNS}.npy") as stream:
        shape, _, dtype = parse_header(stream, f"{path} ({COLUMNS})")
        if dtype.kind != "U" or shape != (header.shape[1],):
            return None
        if not 0 < dtype.itemsize <= LONGEST_NAME:
            raise DataError(
                f"{path} ({COLUMNS}): names are {dtype.itemsize // 4:,} characters wide, and a "
                f"column's name has 1 to {LONGEST_NAME // 4}"
            )
        content = b"".join(_pieces(stream, shape[0] * dtype.itemsize))
    return tuple(np.frombuffer(content, dtype).tolist())


def _reordered(x: Path, columns: list[int], folder: Path) -> Path:
    """The same rows with these columns."""
    file = RowFile.open(x)
    if columns == list(range(file.shape[1])):
        return x
    out = folder / "columns.npy"
    step = max(1, BLOCK_BYTES // (file.shape[1] * file.dtype.itemsize))
    with RowWriter(out, (len(columns),), file.dtype) as writer:
        for start in range(0, len(file), step):
            writer.append(file.read(np.arange(start, min(start + step, len(file))))[:, columns])
    return out


def require_inflatable(member: zipfile.ZipInfo, path: Path) -> None:
    """Raises DataError for what a few bytes inflate to much, by the directory of the archive, which
    bounds what is read: nothing has been inflated yet."""
    limit = max(FREELY_INFLATED_BYTES, MOST_INFLATED * member.compress_size)
    if member.file_size > limit:
        raise DataError(
            f"{path} ({member.filename.removesuffix('.npy')}): {member.compress_size:,} bytes "
            f"would inflate to {member.file_size:,}, and edgemon inflates {MOST_INFLATED} times at "
            "most; if it is what you mean, save it with numpy.savez, which does not compress"
        )


def _groups(
    archive: zipfile.ZipFile, columns: tuple[Column, ...], count: int, wanted: range, path: Path
) -> Groups:
    found = []
    for column in columns:
        with archive.open(f"{column.name}.npy") as stream:
            header = read_header(stream, f"{path} ({column.name})")
            if header.shape[0] != count:
                raise DataError(
                    f"{path}: {count} images but {header.shape[0]} rows of {column.name}, which "
                    "--group names; they must be as many"
                )
            parts, row = [np.empty(0, np.int64)], wanted.start
            for block in _blocks(stream, header, wanted, f"{path} ({column.name})"):
                parts.append(numbers_of(one_column(block, column, str(path)), str(path), row))
                row += len(block)
            found.append(np.concatenate(parts))
    return joined(found)


def _keys(path: Path, keys: list[str]) -> tuple[str, str | None]:
    pairs = [pair for pair in PAIRS if set(pair) <= set(keys)]
    if pairs and (pairs[0][0] in ("x", "X") or len(pairs) == 1):
        return pairs[0]
    if not pairs:
        alone = [k for k in dict.fromkeys(x for x, _ in PAIRS) if k in keys]
        if len(alone) == 1:
            return alone[0], None
    names = ", ".join(keys[:20]) or "none"
    problem = "several sets of images" if pairs else "no images under a name that edgemon knows"
    raise DataError(
        f"{path}: has {problem}; its keys are {names}; save the wanted images and labels as x and y"
    )


def _require_numbers(name: str, dtype: np.dtype[Any]) -> None:
    if dtype.kind not in READABLE:
        raise DataError(f"{name}: images are {dtype}; edgemon needs numbers")


def _read_labels(stream: IO[bytes], name: str, count: int, wanted: range, source: str) -> Named:
    """The labels of the wanted rows; the header is not trusted with memory."""
    header = read_header(stream, name)
    if header.shape[0] != count:
        raise DataError(
            f"{source}: {count} images but {header.shape[0]} labels; they must be as many"
        )
    reader = LabelReader(source, wanted.start)
    for block in _blocks(stream, header, wanted, name):
        reader.add(block)
    return reader.finish()


def _blocks(
    stream: IO[bytes], header: Header, wanted: range, name: str
) -> Iterator[npt.NDArray[Any]]:
    """The wanted rows of a stream behind its header."""
    if header.row_bytes > BLOCK_BYTES:
        raise DataError(f"{name}: has the shape {header.shape}; one number a row is needed")
    stream.seek(wanted.start * header.row_bytes, os.SEEK_CUR)
    block = BLOCK_BYTES // header.row_bytes
    for first in range(0, len(wanted), block):
        rows = min(block, len(wanted) - first)
        content = b"".join(_pieces(stream, rows * header.row_bytes))
        yield np.frombuffer(content, header.dtype).reshape(rows, *header.shape[1:])


def _unpack(
    stream: IO[bytes], header: Header, count: int, out: Path, progress: Progress | None
) -> Path:
    size = count * header.row_bytes
    free = shutil.disk_usage(out.parent).free
    if size > free:
        raise DataError(
            f"unpacking the data takes {size / 1e9:.1f} GB, but {out.parent} has "
            f"{free / 1e9:.1f} GB left; set TMPDIR to a larger disk"
        )
    with out.open("wb") as file:
        file.write(Header((count, *header.shape[1:]), header.dtype).to_bytes())
        done = 0
        for piece in _pieces(stream, size):
            file.write(piece)
            done += len(piece)
            if progress is not None:
                progress(done // header.row_bytes, count)
    return out


def _pieces(stream: IO[bytes], size: int) -> Iterator[bytes]:
    left = size
    while left:
        piece = stream.read(min(left, BLOCK_BYTES))
        if not piece:
            raise EOFError
        left -= len(piece)
        yield piece


@contextmanager
def readable(path: Path) -> Iterator[None]:
    try:
        yield
    except (EdgemonError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, OSError) and error.errno:
            raise
        # Each decompressor has errors of its own, and some come only with optional modules.
        why = str(error) or "it was cut off"
        raise DataError(f"{path}: cannot be read, the file is damaged: {why}") from None
