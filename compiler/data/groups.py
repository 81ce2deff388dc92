"""Rows that come in groups: frames of one track, images of one part, samples of one patient.

Rows of a group show the same thing, so that a group is one observation, however many rows it has.
A group is kept as a number that its text determines, whatever file it stands in: the first eight
bytes of a digest. Should two groups ever share a number, they are kept together, which is safe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import DataError

Array = npt.NDArray[Any]
Groups = npt.NDArray[np.int64]  # (n,): the number of each row's group
Indices = npt.NDArray[np.int64]

JOIN = "+"
KINDS = "biuSU"  # NumPy's kinds: booleans, integers, texts
MOST_NAMES = 20  # in a message
_ORDER = 0x67726F75  # keeps the draw apart from other uses of the same seed


@dataclass(frozen=True)
class Column:
    """A name in the file, and which of its columns; None where it has one."""

    name: str
    column: int | None = None


def columns_of(group: str, names: Sequence[str], source: str) -> tuple[Column, ...]:
    """What ``--group`` names: ``track``, ``track[0]``, or several as in ``y+track[0]``, of which
    each combination is a group. Raises DataError for what is not among ``names``."""
    parts = [group] if group in names else group.split(JOIN)
    return tuple(_column(part.strip(), names, source) for part in parts)


def _column(part: str, names: Sequence[str], source: str) -> Column:
    if part in names:
        return Column(part)
    indexed = re.fullmatch(r"(.+)\[(\d{1,9})\]", part)
    if indexed is not None and indexed[1] in names:
        return Column(indexed[1], int(indexed[2]))
    listed = ", ".join(names[:MOST_NAMES]) + (", ..." if len(names) > MOST_NAMES else "")
    raise DataError(f"{source}: --group {part!r} names nothing here; there are {listed or 'none'}")


def one_column(values: Array, column: Column, source: str) -> Array:
    """(n,): the column that is meant of values (n,) or (n, k)."""
    name = f"{source}: --group {column.name}"
    if values.dtype.kind not in KINDS:
        raise DataError(f"{name} is {values.dtype}; groups are whole numbers or words")
    flat = values.reshape(len(values), -1)
    width = flat.shape[1]
    if column.column is None and width > 1:
        raise DataError(
            f"{name} has {width} numbers a row; choose one, {column.name}[0], or several, "
            f"{column.name}[0]{JOIN}{column.name}[1]"
        )
    if (column.column or 0) >= width:
        raise DataError(f"{name} has the columns 0 to {width - 1}, not {column.column}")
    return np.asarray(flat[:, column.column or 0])


def numbers_of(values: Array, source: str, first_row: int = 0) -> Groups:
    """(n,): the numbers of a column's values (n,), of which the first is of row ``first_row``.
    Raises DataError where a text is empty."""
    each, at = np.unique(values, return_inverse=True)
    texts = _texts(each)
    empty = np.array([not text for text in texts], bool)[at]
    if empty.any():
        raise _empty(source, f"row {first_row + int(np.argmax(empty))}")
    return np.array([_number_of_text(text) for text in texts], np.int64)[at]


def joined(columns: Sequence[Groups]) -> Groups:
    """(n,): the numbers of the combinations of columns (n,); of one column its own."""
    if len(columns) == 1:
        return columns[0]
    each, at = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    return np.array([_joined(tuple(row)) for row in each.tolist()], np.int64)[at.reshape(-1)]


def number_of_cells(texts: Sequence[str], source: str, where: str) -> int:
    """The number of one row of a table, which is ``where`` in the file, from its cells."""
    own = tuple(t.strip() for t in texts)
    if "" in own:
        raise _empty(source, where)
    return _number_of_text(own[0]) if len(own) == 1 else _joined(tuple(map(_number_of_text, own)))


def one_of_each(groups: Groups, seed: int, numbers: Indices | None = None) -> Indices:
    """Sorted indices of one row of each group (n,), drawn by seed. ``numbers`` (n,) are the rows'
    numbers in a larger set: of two parts of it the same rows are drawn where both hold them."""
    rows = np.arange(len(groups)) if numbers is None else numbers
    if not len(rows):
        return np.empty(0, np.int64)
    order = np.random.default_rng([seed, _ORDER]).random(int(rows.max()) + 1)[rows]
    by_group = np.lexsort((order, groups))
    first = np.unique(groups[by_group], return_index=True)[1]
    return np.sort(by_group[first]).astype(np.int64)


def _texts(values: Array) -> list[str]:
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "b":
        values = values.astype(np.int64)
    return [str(v).strip() for v in values.tolist()]


@lru_cache(maxsize=1 << 16)
def _number_of_text(text: str) -> int:
    return _number(text.encode("utf-8", "surrogatepass"))


@lru_cache(maxsize=1 << 16)
def _joined(numbers: tuple[int, ...]) -> int:
    return _number(np.array(numbers, "<i8").tobytes())


def _number(content: bytes) -> int:
    return int.from_bytes(blake2b(content, digest_size=8).digest(), "little", signed=True)


def _empty(source: str, where: str) -> DataError:
    return DataError(f"{source}: the group of {where} is empty; give every row one (--group)")
