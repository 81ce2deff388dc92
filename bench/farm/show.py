"""A benchmark for people: on the terminal, and as Markdown in a file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from edgemon.bench.farm import published
from edgemon.bench.farm.tables import UNDEFINED, Table, tables
from edgemon.compiler.terminal import Terminal

Document = dict[str, Any]


def show(terminal: Terminal, document: Document, measured: Sequence[Document]) -> None:
    """The sentences, then all tables."""
    terminal.note(heading(document))
    for sentence in document["sentences"]:
        terminal.note(f"* {sentence}")
    for table in tables(document, measured):
        terminal.table(table.columns, table.rows, title=f"\n{table.title}")
        if table.note:
            terminal.note(table.note)


def markdown(document: Document, measured: Sequence[Document]) -> str:
    """All of it, and the published figures."""
    lines = [f"# {document['benchmark']}", "", heading(document), ""]
    lines += [f"* {sentence}" for sentence in document["sentences"]]
    for table in (*tables(document, measured), *published.tables()):
        lines += ["", f"## {table.title}", "", *_lines(table)]
        if table.note:
            lines += ["", table.note + "."]
    return "\n".join(lines) + "\n"


def _lines(table: Table) -> list[str]:
    rule = ["---"] * len(table.columns)
    return [f"| {' | '.join(map(cell, row))} |" for row in (table.columns, rule, *table.rows)]


def cell(value: Any) -> str:
    """A value of a table as text."""
    if value is None:
        return UNDEFINED
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return text.replace("|", "\\\\|")


def heading(document: Document) -> str:
    """What was measured, and how."""
    promise = document["promise"]
    thresholds = (
        f"Certified: at most {promise['false_alarms']:.3g} false alarms at confidence "
        f"{promise['confidence']:.3g}; native: the threshold that the method brings."
        if document["bundle"] is None
        else f"In the place of certified thresholds are those of the bundle {document['bundle']}, "
        "as it was compiled."
    )
    return (
        f"{document['benchmark']}: {len(document['sets'])} benchmark sets, "
        f"{len(document['ranks'])} monitors ranked. Specific: {document['oracles']['specific']}; "
        f"overall: {document['oracles']['overall']}. Alarm: {document['alarm']}. {thresholds}"
    )
