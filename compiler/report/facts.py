"""What a monitor says of itself, in whatever JSON shape, as pieces that a page can lay out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import NoneType
from typing import Any

from edgemon.compiler.report.words import always, column

SHORT_LIST = 24  # values that are shown in a line; longer lists are folded


@dataclass(frozen=True)
class Fact:
    """One thing in a line."""

    name: str
    text: str
    folded: bool = False


@dataclass(frozen=True)
class Table:
    """A list of records: one row each. A cell is text, or a list of conditions."""

    name: str
    columns: tuple[str, ...]
    numeric: tuple[bool, ...]  # a column of numbers?
    rows: tuple[tuple[str | list[str], ...], ...]
    always: tuple[str, ...] = ()  # columns that are the same in every row, in words


def facts(details: dict[str, Any], prefix: str = "") -> Iterator[Fact | Table]:
    """Lines first, tables last; dictionaries within are flattened ("layer: depth")."""
    tables: list[Table] = []
    for key, value in details.items():
        name = prefix + key.replace("_", " ")
        if isinstance(value, dict):
            for part in facts(value, f"{name}: "):
                if isinstance(part, Table):
                    tables.append(part)
                else:
                    yield part
        elif _is_records(value):
            tables.append(_table(name, value))
        else:
            folded = isinstance(value, (list, tuple)) and len(value) > SHORT_LIST
            yield Fact(name, plain(value), folded)
    yield from tables


def plain(value: Any) -> str:
    """A JSON value for people."""
    match value:
        case None:
            return "n/a"
        case bool():
            return "yes" if value else "no"
        case float():
            return f"{value:.4g}"
        case int():
            return f"{value:,}"
        case list() | tuple():
            return ", ".join(map(plain, value)) or "none"
        case dict():
            return "; ".join(f"{k.replace('_', ' ')} {plain(v)}" for k, v in value.items())
    return str(value)


def _is_records(value: Any) -> bool:
    return (
        isinstance(value, (list, tuple)) and bool(value) and all(isinstance(v, dict) for v in value)
    )


def _table(name: str, records: list[dict[str, Any]]) -> Table:
    known = (key for record in records for key, value in record.items() if value is not None)
    keys = list(dict.fromkeys(known)) or list(records[0])  # what no record knows is no column
    cells = {k: [_cell(k, r[k]) if k in r else "" for r in records] for k in keys}
    same = [k for k in keys if len(records) > 1 and all(c == cells[k][0] for c in cells[k])]
    columns = [k for k in keys if k not in same] or keys[:1]
    return Table(
        name,
        tuple(map(column, columns)),
        tuple(all(_is_number(r.get(c)) for r in records) for c in columns),
        tuple(zip(*(cells[c] for c in columns), strict=True)),
        tuple(_in_every(k, records[0][k]) for k in same if k not in columns),
    )


def _in_every(key: str, value: Any) -> str:
    cell = _cell(key, value)
    return always(key, value) or f"{column(key)} {cell if isinstance(cell, str) else plain(value)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, NoneType)) and not isinstance(value, bool)


def _cell(key: str, value: Any) -> str | list[str]:
    if key.endswith("interval") and isinstance(value, (list, tuple)):
        return " to ".join(map(plain, value))
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, str) for v in value):
        return list(value)
    return plain(value)
