"""Labelled rows from files, kept on disk and read in blocks."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data import arrays, images, tables
from edgemon.compiler.data.groups import Groups
from edgemon.compiler.data.image_files import SUFFIXES
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.data.row_range import RowRange
from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Progress, Warn, unheard

Array = npt.NDArray[Any]

FINGERPRINT_BLOCK_VALUES = 1 << 20
READ = (".npz", ".npy", ".csv")  # beside images
GROUPED = (".npz", ".csv")  # what can say of each row to which group it belongs


@dataclass(frozen=True, eq=False)
class Dataset:
    """``rows`` are indices into the .npy file ``x``; ``y`` are their labels.

    ``class_names[label]`` is a label's name, where labels came as words. ``source`` is what the
    user wrote. Row 0 of ``x`` is row ``first_row`` of that. ``groups`` (n,) is the group of each
    row, if rows come in groups: see ``data.groups``. ``features`` are the columns of a table that
    has names for them. ``files`` are the names of the files of all rows of ``x`` in the folder that
    the user named, where each row was a file.
    """

    x: Path
    rows: npt.NDArray[np.int64]
    y: npt.NDArray[np.int64] | None
    class_names: tuple[str, ...] | None
    source: str
    first_row: int = 0
    groups: Groups | None = None
    features: tuple[str, ...] | None = None
    files: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def numbers(self) -> npt.NDArray[np.int64]:
        """Each row's number in what the user named, from 0; for images, in the sorted listing."""
        return self.rows + self.first_row

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows first."""
        return (len(self), *self._file.shape[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values in the file."""
        return self._file.dtype

    def take(self, indices: npt.ArrayLike) -> Dataset:
        """These of the rows; nothing is copied on disk."""
        at = np.asarray(indices)
        return replace(
            self,
            rows=self.rows[at],
            y=None if self.y is None else self.y[at],
            groups=None if self.groups is None else self.groups[at],
        )

    def blocks(self, size: int) -> Iterator[Array]:
        """All rows, at most ``size`` at a time."""
        for start in range(0, len(self), size):
            yield self._file.read(self.rows[start : start + size])

    def fingerprints(self) -> list[bytes]:
        """A digest of each row's values: rows that are equal to a model have equal ones.

        A model sees float32, without a difference between -0 and 0, and a vector that has as many
        values as its image: dtype and shape make no difference.
        """
        size = max(1, FINGERPRINT_BLOCK_VALUES // math.prod(self.shape[1:]))
        digests = []
        for block in self.blocks(size):
            with np.errstate(over="ignore"):
                rows = block.reshape(len(block), -1).astype(np.float32) + np.float32(0)
            digests += [blake2b(row.data, digest_size=16).digest() for row in rows]
        return digests

    @cached_property
    def _file(self) -> RowFile:
        return RowFile.open(self.x)


def load(
    spec: str,
    scratch: Path,
    *,
    label_column: str | None = None,
    pictures: images.Pictures = images.Pictures(),  # noqa: B008 - immutable
    group: str | None = None,
    aside: str | None = None,
    features: tuple[str, ...] | None = None,
    takes_group: bool = False,
    progress: Progress | None = None,
    warn: Warn = unheard,
) -> Dataset:
    """Read what the user named; a row range may follow, as in ``x.npz[0:5000]``.

    ``x.npz`` (x and y, or names like them), ``x.npy,y.npy``, ``x.npy``, a folder with x.npy and
    y.npy, a ``.csv`` (``label_column``: its name or number, or "none"), a folder of images by
    class, or one image. Compressed data is unpacked to ``scratch``. ``group`` names arrays of the
    .npz or columns of the CSV: rows that have equal values there are of one group. ``aside`` names
    columns in the same way that are no features, in a CSV that has them: those by which the rows of
    a bundle were grouped. ``features`` are the columns of a CSV that are features, in this order,
    where it has a header. ``warn`` hears what was guessed or left out. ``takes_group``: can the
    user say ``--group``? Raises DataError.
    """
    named, rows = _parse(spec)
    folder = Path(tempfile.mkdtemp(prefix="data-", dir=scratch))
    try:
        columns = tables.Columns(label_column, group, aside, features, takes_group)
        loaded = _read(named, rows, folder, columns, pictures, progress, warn)
    except OSError as error:
        raise DataError(
            f"{error.filename or spec}: cannot be read or unpacked: {error.strerror or error}"
        ) from None
    shape = RowFile.open(loaded.x).shape
    if len(shape) < 2:
        raise DataError(f"{spec}: has the shape {shape}; one row must be one image, (N, ...)")
    return Dataset(
        loaded.x, loaded.rows, loaded.y, loaded.class_names, spec, loaded.first_row, loaded.groups,
        loaded.features, loaded.files,
    )  # fmt: skip


def file_of(spec: str) -> Path:
    """The (first) file or folder that a specification names, without its row range."""
    return files_of(spec)[0].resolve()


def files_of(spec: str) -> list[Path]:
    """The files or folders that a specification names, without its row range. Raises DataError
    where there are none that ``load`` reads."""
    named = _parse(spec)[0]
    suffixes = {path.suffix.lower() for path in named}
    one = len(named) == 1 and (named[0].is_dir() or suffixes <= {*READ, *SUFFIXES})
    if not one and not (len(named) == 2 and suffixes == {".npy"}):
        raise _unreadable(named)
    return named


def _parse(spec: str) -> tuple[list[Path], RowRange]:
    if _exists(Path(spec)):
        return [Path(spec)], RowRange(None, None, spec)
    match = re.fullmatch(r"(.+)\[([^\[\]]*)\]", spec)
    files, rows = match.groups() if match else (spec, ":")
    bounds = re.fullmatch(r"\s*(-?\d{0,18})\s*:\s*(-?\d{0,18})\s*", rows)
    if bounds is None or "-" in bounds.groups():
        raise DataError(f"{spec}: the row range [{rows}] is not understood; write [FIRST:END]")
    first, end = (int(b) if b else None for b in bounds.groups())
    named = [Path(files)] if _exists(Path(files)) else [Path(f.strip()) for f in files.split(",")]
    for path in named:
        if not _exists(path):
            raise DataError(f"{path}: no such file or folder")
    if first is not None and end is not None and first >= end and (first < 0) == (end < 0):
        raise DataError(f"{spec}: has no rows in this range")
    return named, RowRange(first, end, spec)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # a name that is too long, a folder that may not be searched
        return False


def _read(
    named: list[Path],
    rows: RowRange,
    folder: Path,
    columns: tables.Columns,
    pictures: images.Pictures,
    progress: Progress | None,
    warn: Warn,
) -> arrays.Loaded:
    path, suffix = named[0], named[0].suffix.lower()
    if columns.group is not None and suffix not in GROUPED:
        raise DataError(
            f"{','.join(map(str, named))}: --group names an array of an .npz or a column of a "
            "CSV, and here is neither; save the rows and their groups in one .npz"
        )
    if columns.label is not None and suffix != ".csv":
        warn(f"{path}: is no CSV, so that --label-column {columns.label} is left out")
    if len(named) == 2 and {p.suffix.lower() for p in named} == {".npy"}:
        return arrays.read_npy(path, named[1], rows)
    if len(named) == 1:
        if path.is_dir():
            if (path / "x.npy").exists():
                y = path / "y.npy"
                return arrays.read_npy(path / "x.npy", y if y.exists() else None, rows)
            return images.read_folder(path, rows, folder, pictures, progress, warn)
        if suffix == ".npz":
            return arrays.read_npz(
                path, rows, folder, progress, columns.group, warn, columns.features
            )
        if suffix == ".npy":
            return arrays.read_npy(path, None, rows)
        if suffix == ".csv":
            return tables.read_csv(path, rows, folder, columns, progress, warn)
        if suffix in SUFFIXES:
            return images.read_image(path, folder, pictures, warn)
    raise _unreadable(named)


def _unreadable(named: list[Path]) -> DataError:
    return DataError(
        f"{','.join(map(str, named))}: is not data that edgemon can read; give x.npz, x.npy,y.npy, "
        "a .csv, or a folder of images by class"
    )
