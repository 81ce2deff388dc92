"""What the commands show: notes, tables, progress bars, or one JSON document.

Progress goes to standard error, and only to a terminal. With ``--json`` standard output holds the
document and nothing else; with ``--markdown`` it is a text to paste into another.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

from edgemon.compiler import answer
from edgemon.compiler.reporter import Progress as Callback
from edgemon.compiler.reporter import Reporter, unseen
from edgemon.compiler.timings import timed
from edgemon.runtime.untrusted import printable

STDERR = 2
WIDE = 200  # columns where nobody's terminal sets a limit
ENDLESS = 10_000  # columns of text whose tables must not wrap


def _width() -> int | None:
    """None: what the terminal has."""
    return None if sys.stdout.isatty() or "COLUMNS" in os.environ else WIDE


class Terminal(Reporter):
    """Shows notes on standard output (not with ``--json``), everything else on standard error."""

    def __init__(self, *, as_json: bool = False, markdown: bool = False) -> None:
        self.as_json, self.markdown = as_json, markdown
        width = ENDLESS if markdown else _width()
        self.out = Console(highlight=False, soft_wrap=True, width=width)
        self.err = Console(stderr=True, highlight=False, soft_wrap=True)

    def note(self, text: str) -> None:
        if not self.as_json:
            self.out.print(escape(printable(text, lines=True)))

    def warn(self, text: str) -> None:
        self.err.print(f"[yellow]warning:[/yellow] {escape(printable(text, lines=True))}")

    @contextmanager
    def stage(self, name: str) -> Iterator[Callback]:
        with timed(name), self._shown(name) as progress:
            yield progress

    @contextmanager
    def _shown(self, name: str) -> Iterator[Callback]:
        if not self.err.is_terminal:
            yield unseen
            return
        columns = (
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.err, transient=True) as bar:
            task = bar.add_task(escape(printable(name)), total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total or None)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]], title: str = "") -> None:
        """A table on standard output; numbers are right-aligned, None is n/a."""
        if self.as_json:
            return
        table = Table(*columns, title=title or None, title_justify="left", box=None, pad_edge=False)
        for column in table.columns:
            column.overflow = "fold"  # a name goes on in the next line, and is not cut
        for column, values in zip(table.columns, zip(*rows, strict=True), strict=False):
            if all(isinstance(v, (int, float, type(None))) for v in values):
                column.justify = "right"
        for row in rows:
            table.add_row(*(escape(printable(_cell(v))) for v in row))
        if self.markdown:
            table.box, table.pad_edge, table.title = box.MARKDOWN, True, None
            with self.out.capture() as captured:
                self.out.print(table)
            lines = (line.rstrip() for line in captured.get().splitlines())
            heading = f"\n{title.strip()}\n" if title else ""
            self.out.print(escape("\n".join([heading, *filter(None, lines), ""])))
        else:
            self.out.print(table)

    def document(self, content: Any) -> None:
        """The JSON document, if one was asked for."""
        if self.as_json:
            answer.show(content)


@contextmanager
def quiet_interpreter() -> Iterator[None]:
    """Keeps what the interpreter's native code logs at its creation off standard error."""
    sys.stderr.flush()
    kept = os.dup(STDERR)
    silence = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(silence, STDERR)
        yield
    finally:
        os.dup2(kept, STDERR)
        os.close(kept)
        os.close(silence)


def _cell(value: Any) -> str:
    if value is None:
        return "n/a"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def percent(value: float | None) -> str:
    """A share for people."""
    return "n/a" if value is None else f"{value:.2%}"
