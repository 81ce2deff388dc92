"""Labelled rows from files, kept on disk and read in blocks."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler import data_arrays, data_images, data_tables
from edgemon.compiler.errors import DataError
from edgemon.compiler.labels import to_labels
from edgemon.compiler.row_file import RowFile
from edgemon.compiler.row_range import RowRange

Array = npt.NDArray[Any]
Progress = Callable[[int, int], None]

FINGERPRINT_BLOCK_BYTES = 4 << 20


@dataclass(frozen=True, eq=False)
class Dataset:
    """``rows`` are indices into the .npy file ``x``; ``y`` are their labels.

    ``class_names[label]`` is a label's name, where labels came as words. ``source`` is what the
    user wrote.
    """

    x: Path
    rows: npt.NDArray[np.int64]
    y: npt.NDArray[np.int64] | None
    class_names: tuple[str, ...] | None
    source: str

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows first."""
        return (len(self), *self._file.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of the values, as in the file."""
        return self._file.dtype

    def take(self, indices: npt.ArrayLike) -> Dataset:
        """These of the rows; nothing is copied on disk."""
        at = np.asarray(indices)
        return replace(self, rows=self.rows[at], y=None if self.y is None else self.y[at])

    def blocks(self, size: int) -> Iterator[Array]:
        """All rows, at most ``size`` at a time."""
        for start in range(0, len(self), size):
            yield self._file.read(self.rows[start : start + size])

    def fingerprints(self) -> list[bytes]:
        """A digest of each row's content: equal rows have equal ones."""
        size = max(1, FINGERPRINT_BLOCK_BYTES // max(1, self._file.row_bytes))
        return [
            blake2b(row.tobytes(), digest_size=16).digest()
            for block in self.blocks(size)
            for row in block
        ]

    @cached_property
    def _file(self) -> RowFile:
        return RowFile.open(self.x)


def load(
    spec: str,
    scratch: Path,
    *,
    label_column: str | None = None,
    resize: tuple[int, int] | None = None,
    progress: Progress | None = None,
) -> Dataset:
    """Read what the user named; a row range may follow, as in ``x.npz[0:5000]``.

    ``x.npz`` (x and y, or names like them), ``x.npy,y.npy``, ``x.npy``, a folder with x.npy and
    y.npy, a ``.csv`` (``label_column``: its name or number), a folder of images by class, or one
    image. Compressed data is unpacked to ``scratch``. Images of several sizes are resized to
    ``resize``, (width, height), if that is given. Raises DataError.
    """
    named, rows = _parse(spec)
    folder = Path(tempfile.mkdtemp(prefix="data-", dir=scratch))
    loaded = _read(named, rows, folder, label_column, resize, progress)
    shape = RowFile.open(loaded.x).shape
    if len(shape) < 2:
        raise DataError(f"{spec}: has the shape {shape}; one row must be one image, (N, ...)")
    if loaded.y is None:
        return Dataset(loaded.x, loaded.rows, None, None, spec)
    if len(loaded.y) != len(loaded.rows):
        raise DataError(
            f"{spec}: {len(loaded.rows)} images but {len(loaded.y)} labels; they must be as many"
        )
    y, class_names = to_labels(loaded.y, spec)
    return Dataset(loaded.x, loaded.rows, y, class_names, spec)


def _parse(spec: str) -> tuple[list[Path], RowRange]:
    if Path(spec).exists():
        return [Path(spec)], RowRange(None, None, spec)
    match = re.fullmatch(r"(.+)\[([^\[\]]*)\]", spec)
    files, rows = match.groups() if match else (spec, ":")
    bounds = re.fullmatch(r"\s*(-?\d*)\s*:\s*(-?\d*)\s*", rows)
    if bounds is None or "-" in bounds.groups():
        raise DataError(f"{spec}: the row range [{rows}] is not understood; write [FIRST:END]")
    first, end = (int(b) if b else None for b in bounds.groups())
    named = [Path(files)] if Path(files).exists() else [Path(f.strip()) for f in files.split(",")]
    for path in named:
        if not path.exists():
            raise DataError(f"{path}: no such file or folder")
    return named, RowRange(first, end, spec)


def _read(
    named: list[Path],
    rows: RowRange,
    folder: Path,
    label_column: str | None,
    resize: tuple[int, int] | None,
    progress: Progress | None,
) -> data_arrays.Loaded:
    path, suffix = named[0], named[0].suffix.lower()
    if len(named) == 2 and {p.suffix.lower() for p in named} == {".npy"}:
        return data_arrays.read_npy(path, named[1], rows)
    if len(named) == 1:
        if path.is_dir():
            if (path / "x.npy").exists():
                y = path / "y.npy"
                return data_arrays.read_npy(path / "x.npy", y if y.exists() else None, rows)
            return data_images.read_folder(path, rows, folder, resize, progress)
        if suffix == ".npz":
            return data_arrays.read_npz(path, rows, folder, progress)
        if suffix == ".npy":
            return data_arrays.read_npy(path, None, rows)
        if suffix == ".csv":
            return data_tables.read_csv(path, rows, folder, label_column, progress)
        if suffix in data_images.SUFFIXES:
            return data_images.read_image(path, folder)
    raise DataError(
        f"{','.join(map(str, named))}: is no data that edgemon reads; give x.npz, x.npy,y.npy, "
        "a .csv, or a folder of images by class"
    )
