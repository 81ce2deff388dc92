"""CSV: one row an image (or a vector of features), one column the label."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import numpy as np

from edgemon.compiler.data_arrays import Loaded
from edgemon.compiler.errors import DataError
from edgemon.compiler.row_file import RowWriter
from edgemon.compiler.row_range import RowRange

Progress = Callable[[int, int], None]

LABEL_NAMES = ("label", "labels", "y", "target", "class", "classid", "class_id")
BLOCK_ROWS = 256


def read_csv(
    path: Path, rows: RowRange, folder: Path, label_column: str | None, progress: Progress | None
) -> Loaded:
    """Features as float32 (N, columns). The label is ``label_column``, a name or a number from 0
    (negative: from the end), else a column that is called like one, else there is none."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _Table(path, file).write(rows, folder / "x.npy", label_column, progress)
    except UnicodeDecodeError:
        raise DataError(f"{path}: is no UTF-8 text; save it as CSV in UTF-8") from None
    except csv.Error as error:
        raise DataError(f"{path}: is no CSV table: {error}") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from None


class _Table:
    """A CSV file with or without a header line, read line by line, twice."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self._path, self._file = path, file
        first = file.readline()
        self._delimiter = max(",;\t", key=first.count)
        cells = [c.strip() for c in next(csv.reader([first], delimiter=self._delimiter), [])]
        if not cells:
            raise DataError(f"{path}: is empty")
        self._width = len(cells)
        named = any(c.lower() in LABEL_NAMES for c in cells)
        self._header = cells if named or not any(_is_number(c) for c in cells) else None

    def write(
        self, rows: RowRange, out: Path, label_column: str | None, progress: Progress | None
    ) -> Loaded:
        label = self._label(label_column)
        if self._width == (label is not None):
            raise DataError(f"{self._path}: has no column beside the label")
        wanted = rows.of(sum(1 for _ in self._lines()))
        labels: list[str] = []
        block: list[list[str]] = []
        numbers: list[int] = []
        with RowWriter(out, (self._width - (label is not None),), np.float32) as writer:
            for row, (line, cells) in enumerate(self._lines()):
                if row not in wanted:
                    continue
                if len(cells) != self._width:
                    raise DataError(
                        f"{self._path}: line {line} has {len(cells)} columns, "
                        f"the first one {self._width}"
                    )
                if label is not None:
                    labels.append(cells.pop(label))
                block.append(cells)
                numbers.append(line)
                if len(block) == BLOCK_ROWS or row == wanted[-1]:
                    writer.append(self._values(block, numbers, label))
                    block, numbers = [], []
                    if progress is not None:
                        progress(row - wanted[0] + 1, len(wanted))
        return Loaded(
            out, np.arange(len(wanted)), None if label is None else np.array(labels, np.str_)
        )

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """(line number, cells) of every line that is not blank, but not of the header."""
        self._file.seek(0)
        reader = csv.reader(self._file, delimiter=self._delimiter)
        if self._header is not None:
            next(reader)
        for cells in reader:
            if cells:
                yield reader.line_num, cells

    def _label(self, wanted: str | None) -> int | None:
        names = self._header or []
        if wanted is None:
            found = [i for i, n in enumerate(names) if n.lower() in LABEL_NAMES]
            if len(found) > 1:
                raise DataError(
                    f"{self._path}: several columns may be the label "
                    f"({', '.join(names[i] for i in found)}); choose with --label-column"
                )
            return found[0] if found else None
        if wanted in names:
            return names.index(wanted)
        try:
            return range(self._width)[int(wanted)]
        except (ValueError, IndexError):
            columns = ", ".join(names[:20]) or f"0 to {self._width - 1}"
            raise DataError(
                f"{self._path}: there is no column {wanted!r}; columns: {columns}"
            ) from None

    def _values(self, block: list[list[str]], lines: list[int], label: int | None) -> np.ndarray:
        try:
            return np.array(block, dtype=np.str_).astype(np.float32)
        except ValueError:
            row, column = next(
                (i, j) for i, c in enumerate(block) for j, v in enumerate(c) if not _is_number(v)
            )
        at = column + (label is not None and column >= label)
        name = self._header[at] if self._header else str(at)
        raise DataError(
            f"{self._path}: line {lines[row]}, column {name}: {block[row][column]!r} is no number; "
            f"if this column is the label, give --label-column {name}"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
