"""Errors of the last bits as tables, for the terminal and for the report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from edgemon.compiler.documents import measured as schema
from edgemon.compiler.terminal import Terminal, percent

Row = tuple[Any, ...]


@dataclass(frozen=True)
class Table:
    """Numbers are whole, or shares as text."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]


def tables(found: schema.LastBits) -> Iterator[Table]:
    """The tables of a manifest's entry: errors that were added, then kernel sets."""
    lsb, sets = found["lsb"], found["kernels"]
    if lsb is not None:
        rows = [
            (f"{_size(e)} LSB, {e['error']}", *_changes(e["changes"], lsb["rows"]))
            for e in lsb["effects"]
        ]
        yield _table(
            f"verdicts that flip under errors of the integer taps, of {lsb['rows']:,} test rows",
            ("error",), rows, lsb["effects"][0]["changes"],
        )  # fmt: skip
    if sets:
        rows = [
            (
                s["kernels"], percent(s["values_changed"]), s["largest_lsb"],
                percent(s["false_alarm_rate"]), *_changes(s["changes"], s["rows"]),
            )
            for s in sets
        ]  # fmt: skip
        yield _table(
            f"kernel sets against {sets[0]['kernels']}, on {sets[0]['rows']:,} test rows",
            ("kernels", "tap values that differ", "at most, in LSB", "false alarms"), rows,
            sets[0]["changes"],
        )  # fmt: skip


def show_last_bits(terminal: Terminal, found: schema.LastBits) -> None:
    """The tables on standard output."""
    for table in tables(found):
        terminal.table(table.columns, table.rows, title=table.title)
    kernels = found["certified_kernels"]
    if found["kernels"]:
        terminal.note(f"calibrated thresholds hold under each of {', '.join(kernels)}")


def _table(title: str, first: tuple[str, ...], rows: list[Row], example: schema.Changes) -> Table:
    monitors = example["monitors"]
    each = tuple(monitors) if len(monitors) > 1 else ()
    columns = (*first, "classes", "trust to alarm", "alarm to trust", "flipped", *each)
    return Table(title, columns, tuple(rows))


def _size(effect: schema.Effect) -> str:
    sign = {"random": "±", "all up": "+", "all down": "-"}[effect["error"]]
    return f"{sign}{effect['lsb']}"


def _changes(changes: schema.Changes, rows: int) -> Row:
    """Classes, the verdict's flips, and of several monitors how often each flips."""
    verdict, monitors = changes["verdict"], changes["monitors"]
    flips = [_flips(f) for f in monitors.values()] if len(monitors) > 1 else []
    total = _flips(verdict)
    return (
        changes["classes"], verdict["to_alarm"], verdict["to_trust"], percent(total / rows), *flips,
    )  # fmt: skip


def _flips(flips: schema.Flips) -> int:
    return flips["to_alarm"] + flips["to_trust"]
