"""NumPy files: .npy is used where it lies, .npz is unpacked in blocks."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.labels import LabelReader, Labels, Named
from edgemon.compiler.data.row_file import READABLE, Header, RowFile, read_header
from edgemon.compiler.data.row_range import RowRange
from edgemon.compiler.errors import DataError
from edgemon.runtime.errors import EdgemonError

Progress = Callable[[int, int], None]

BLOCK_BYTES = 4 << 20
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


@dataclass(frozen=True, eq=False)
class Loaded:
    """A .npy of rows, which of them are meant, their labels, and the names of classes where
    labels are words. Row 0 of the .npy is row ``first_row`` of what the user named."""

    x: Path
    rows: npt.NDArray[np.int64]
    y: Labels | None
    class_names: tuple[str, ...] | None = None
    first_row: int = 0


def read_npy(x: Path, y: Path | None, rows: RowRange) -> Loaded:
    """A pair of .npy files, or images alone. Nothing is copied."""
    file = RowFile.open(x)
    _require_numbers(str(x), file.dtype)
    wanted = rows.of(len(file))
    labels, names = None, None
    if y is not None:
        with _readable(y), y.open("rb") as stream:
            labels, names = _read_labels(stream, str(y), len(file), wanted, rows.source)
    return Loaded(x, np.arange(wanted.start, wanted.stop), labels, names)


def read_npz(path: Path, rows: RowRange, folder: Path, progress: Progress | None) -> Loaded:
    """The images and labels of an .npz; the wanted rows are unpacked to ``folder``."""
    with _readable(path), zipfile.ZipFile(path) as archive:
        images, labels = _keys(path, [n for n in archive.namelist() if n.endswith(".npy")])
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
            stream.seek(wanted.start * header.row_bytes, os.SEEK_CUR)
            x = _unpack(stream, header, len(wanted), folder / "x.npy", progress)
    return Loaded(x, np.arange(len(wanted)), y, names, wanted.start)


def _keys(path: Path, members: list[str]) -> tuple[str, str | None]:
    keys = [m.removesuffix(".npy") for m in members]
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
    if header.row_bytes > BLOCK_BYTES:
        raise DataError(f"{name}: labels have the shape {header.shape}; one number a row is needed")
    stream.seek(wanted.start * header.row_bytes, os.SEEK_CUR)
    reader = LabelReader(source, wanted.start)
    block = BLOCK_BYTES // header.row_bytes
    for first in range(0, len(wanted), block):
        rows = min(block, len(wanted) - first)
        content = b"".join(_pieces(stream, rows * header.row_bytes))
        reader.add(np.frombuffer(content, header.dtype).reshape(rows, *header.shape[1:]))
    return reader.finish()


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
def _readable(path: Path) -> Iterator[None]:
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
