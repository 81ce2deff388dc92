"""CSV: one row an image (or a vector of features), one column the label."""

from __future__ import annotations

import csv
import itertools
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.arrays import Loaded
from edgemon.compiler.data.groups import JOIN, number_of_cells
from edgemon.compiler.data.labels import LabelReader
from edgemon.compiler.data.named_columns import MOST_NAMED, places, say_left_out, shortened
from edgemon.compiler.data.row_file import RowWriter
from edgemon.compiler.data.row_range import RowRange
from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Progress, Warn

LABEL_NAMES = ("label", "labels", "y", "target", "class", "classid", "class_id")
CLEAR_NAMES = ("label", "labels")  # no feature is called so
NO_LABEL = "none"  # as --label-column: there is none
PROGRESS_ROWS = 256
FEWEST_COUNTED = 3  # fewer numbers that count 0, 1, ... may well be a row of values
LOOKED_AT = 1000  # rows that tell a column of words from one wrong cell


@dataclass(frozen=True)
class Columns:
    """Which columns are no features, as ``loading.load`` takes it. A column is a name or a number
    from 0 (negative: from the end); of groups there may be several with a plus between them."""

    label: str | None = None
    group: str | None = None
    aside: str | None = None
    features: tuple[str, ...] | None = None
    takes_group: bool = False


def read_csv(
    path: Path, rows: RowRange, folder: Path, columns: Columns, progress: Progress | None,
    warn: Warn,
) -> Loaded:  # fmt: skip
    """Features as float32 (N, columns). The label is the column that is given, else one that is
    called like a label and is no feature, else the last one if it holds words, else there is
    none."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            table = _Table(path, file, warn)
            return table.write(rows, folder / "x.npy", columns, progress)
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not text in UTF-8; save it as CSV in UTF-8") from None
    except csv.Error as error:
        raise DataError(f"{path}: is not a CSV table: {error}") from None


class _Table:
    """A CSV file with or without a header line, read line by line, twice."""

    def __init__(self, path: Path, file: IO[str], warn: Warn) -> None:
        self._path, self._file, self._warn = path, file, warn
        self._delimiter = _delimiter(file.readline())
        self._header: list[str] | None = None
        self._takes_group = False
        start = itertools.islice(self._lines(), 2)
        lines = [[c.strip() for c in cells] for _, cells in start]
        if not lines:
            raise DataError(f"{path}: is empty")
        self._width = len(lines[0])
        if _is_header(*lines):
            self._header = lines.pop(0)
            if all(map(_is_number, self._header)):
                warn(
                    f"{path}: the first line counts 0, 1, 2, ... and is taken for names of columns"
                )
            if not self._header[0]:
                raise DataError(
                    f"{path}: the first column has no name, as if it were a row number; save the "
                    "table without it (pandas: index=False)"
                )
        last = lines[0][-1] if lines else ""
        self._last_is_words = last != "" and not _is_number(last)

    def write(
        self, rows: RowRange, out: Path, columns: Columns, progress: Progress | None
    ) -> Loaded:
        self._takes_group = columns.takes_group
        grouping = [self._column(part) for part in self._parts(columns.group)]
        others = grouping + [
            self._column(part) for part in self._parts(columns.aside) if self._has(part)
        ]
        known = self._known(columns.features)
        label = self._label(columns.label, others, known or ())
        no_features = [*others, *([] if label is None else [label])]
        features = [i for i in range(self._width) if i not in no_features]
        if known is not None:
            say_left_out(str(self._path), self._names, {*known, *no_features}, self._warn)
            features = known
        if not features:
            raise DataError(f"{self._path}: has no column beside the label"
                            + (" and the group" if others else ""))  # fmt: skip
        wanted = rows.of(sum(1 for _ in self._lines()))
        labels = LabelReader(rows.source, wanted.start)
        groups = array("q")
        with RowWriter(out, (len(features),), np.float32) as writer:
            for row, (line, cells) in enumerate(self._lines()):
                if row not in wanted:
                    continue
                if len(cells) != self._width:
                    raise DataError(
                        f"{self._path}: line {line} has {len(cells)} columns, "
                        f"the first one {self._width}"
                    )
                if label is not None:
                    labels.add_word(cells[label], f"line {line}")
                if grouping:
                    own = [cells[i] for i in grouping]
                    groups.append(number_of_cells(own, rows.source, f"line {line}"))
                writer.append(self._values([cells[i] for i in features], line, features))
                done = row - wanted.start + 1
                if progress is not None and (done % PROGRESS_ROWS == 0 or done == len(wanted)):
                    progress(done, len(wanted))
        y, names = (None, None) if label is None else labels.finish()
        return Loaded(
            out, np.arange(len(wanted)), y, names, wanted.start,
            np.array(groups, np.int64) if grouping else None,
            tuple(self._header[i] for i in features) if self._header else None,
        )  # fmt: skip

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """(line number, cells) of every line that is not blank, but not of the header."""
        self._file.seek(0)
        reader = csv.reader(self._file, delimiter=self._delimiter)
        skip = self._header is not None
        for cells in reader:
            if cells and not skip:
                yield reader.line_num, cells
            skip = skip and not cells

    def _label(self, wanted: str | None, others: Sequence[int], known: Sequence[int]) -> int | None:
        """``others`` are of groups, of which one may be the label too; ``known`` are features."""
        names = self._header or []
        if wanted == NO_LABEL and NO_LABEL not in names:
            return None
        if wanted is None:
            found = [i for i, n in enumerate(names) if n.lower() in LABEL_NAMES and i not in known]
            if len(found) > 1:
                raise DataError(
                    f"{self._path}: several columns may be the label "
                    f"({', '.join(names[i] for i in found)}); choose with --label-column"
                )
            by_default = self._last_is_words and self._width - 1 not in (*others, *known)
            chosen = found[0] if found else self._width - 1 if by_default else None
            if chosen is not None and not (names and names[chosen].lower() in CLEAR_NAMES):
                self._warn(
                    f"{self._path}: column {self._names[chosen]!r} is taken for the label; if it "
                    f"is not, say --label-column NAME, or --label-column {NO_LABEL}"
                )
            return chosen
        return self._column(wanted)

    @property
    def _names(self) -> list[str]:
        """What columns are called: by the header, or by their numbers."""
        return self._header or [str(i) for i in range(self._width)]

    def _known(self, features: tuple[str, ...] | None) -> list[int] | None:
        """Where a bundle's features are, by their names; None if the table does not have these."""
        if features is None:
            return None
        header = self._header or []
        found = places(str(self._path), header, features)
        if found is not None:
            return found
        why = "none of its columns has the name of a feature" if header else "it has no header"
        self._warn(f"{self._path}: {why}, so that columns are taken in their order")
        return None

    def _parts(self, group: str | None) -> list[str]:
        """The columns that a group is of, as the user calls them."""
        if group is None:
            return []
        whole = group in (self._header or ())
        return [part.strip() for part in ([group] if whole else group.split(JOIN))]

    def _has(self, wanted: str) -> bool:
        try:
            self._column(wanted)
        except DataError:
            return False
        return True

    def _column(self, wanted: str) -> int:
        """The position of a column, by its name or its number."""
        names = self._header or []
        if names.count(wanted) > 1:
            raise DataError(f"{self._path}: two columns are called {wanted!r}; rename one")
        if wanted in names:
            return names.index(wanted)
        try:
            return range(self._width)[int(wanted)]
        except (ValueError, IndexError):
            columns = ", ".join(map(shortened, names[:20])) or f"0 to {self._width - 1}"
            raise DataError(
                f"{self._path}: there is no column {wanted!r}; columns: {columns}"
            ) from None

    def _values(
        self, cells: list[str], line: int, features: Sequence[int]
    ) -> npt.NDArray[np.float32]:
        if all(map(_is_number, cells)):
            with np.errstate(over="ignore"):
                return np.array([[float(c) for c in cells]]).astype(np.float32)
        column = next(i for i, c in enumerate(cells) if not _is_number(c))
        at = features[column]
        name = shortened(self._header[at]) if self._header else str(at)
        where, cell = f"{self._path}: line {line}, column {name}", cells[column].strip()
        for pattern, problem in _NO_NUMBERS:
            if pattern.fullmatch(cell):
                raise DataError(f"{where}: {shortened(cell)!r} {problem}")
        or_group = f"; if it is the group, --group {name}" if self._takes_group else ""
        words = self._of_words(features)
        if at in words:
            several = ", ".join(
                shortened(self._names[i]) if self._header else str(i) for i in words[:MOST_NAMED]
            )
            which = f"column {several} holds" if len(words) == 1 else f"columns {several} hold"
            raise DataError(
                f"{where}: {shortened(cell)!r} is not a number, and {which} words: encode them as "
                "for the model's training (a column of 0 and 1 for each word, or a number a word); "
                f"if one is the label, give --label-column {name}{or_group}"
            )
        raise DataError(
            f"{where}: {shortened(cell)!r} is not a number; if this column is the label, give "
            f"--label-column {name}{or_group}"
        )

    def _of_words(self, features: Sequence[int]) -> list[int]:
        """The features of which no cell is a number, as far as is looked: categories."""
        left = dict.fromkeys(features, 0)
        for _, cells in itertools.islice(self._lines(), LOOKED_AT):
            for i in [i for i in left if i < len(cells)]:
                if _is_number(cells[i]):
                    del left[i]
                elif not any(p.fullmatch(cells[i].strip()) for p, _ in _NO_NUMBERS):
                    left[i] += 1
        return [i for i, words in left.items() if words]


_NO_NUMBERS = (
    (
        re.compile(r"|\?|-+|n/?a|#n/a|null|none|missing", re.IGNORECASE),
        "is a missing value; fill it in, or remove the row or the column",
    ),
    (
        re.compile(r"[+-]?[\d.]*,\d*(e[+-]?\d+)?", re.IGNORECASE),
        "has a decimal comma, or separates thousands; write 1.5 and 1000",
    ),
    (re.compile(r"true|false|yes|no", re.IGNORECASE), "is a word; write 1 and 0"),
)


def _delimiter(line: str) -> str:
    """Tab, semicolon or comma, whichever of them is there first: a comma beside the others is one
    of decimals. What is quoted does not count."""
    plain = re.sub(r'"[^"]*"', "", line)
    return next((d for d in "\t;" if d in plain), ",")


def _is_header(first: Sequence[str], second: Sequence[str] = ()) -> bool:
    """Does the first line name the columns? Yes, if it holds no number, if a column that is called
    like a label has a number below, or if its numbers count 0, 1, 2, ... as pandas names columns.
    """
    numbers = [c for c in first if _is_number(c)]
    words = [c for c in first if not _is_number(c)]
    if not numbers or any(
        name.lower() in LABEL_NAMES and _is_number(below)
        for name, below in zip(first, second, strict=False)
    ):
        return True
    counted = len(numbers) >= FEWEST_COUNTED and numbers == [str(i) for i in range(len(numbers))]
    return counted and all(c.lower() in ("", *LABEL_NAMES) for c in words)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # which Python reads over
