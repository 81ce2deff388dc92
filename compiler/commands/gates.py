"""What gates found, for people, programs and pipelines."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import load_rows
from edgemon.compiler.commands import junit
from edgemon.compiler.gates.judging import judge
from edgemon.compiler.gates.line import Line
from edgemon.compiler.gates.wanted import Gates
from edgemon.compiler.terminal import Terminal


def judge_on(
    gates: Gates, bundle: Bundle, data: str | None, label_column: str | None, scratch: Path,
    terminal: Terminal,
) -> list[Line]:  # fmt: skip
    """Gates of a bundle, on rows that are read as its own were."""
    rows = None
    if data is not None and gates.needs_rows:
        rows = load_rows(bundle, data, scratch, label_column=label_column, reporter=terminal)
        rows = bundle.classes.numbered(rows, str(bundle.path))
    return judge(gates, bundle, rows, scratch, reporter=terminal)


def show(terminal: Terminal, lines: Sequence[Line]) -> None:
    """One line each; those that are missed first."""
    if not lines:
        return
    terminal.table(
        ("requirement", "wanted", "measured", "95 % interval", ""),
        [
            (
                line.name, line.wanted,
                "" if line.measured is None else f"{line.measured:.4g}",
                "" if line.interval is None else
                f"{line.interval[0]:.4g} to {line.interval[1]:.4g}",
                "met" if line.met else line.why or "MISSED",
            )
            for line in sorted(lines, key=lambda line: line.met)
        ],
    )  # fmt: skip


def cases(lines: Sequence[Line]) -> list[junit.Case]:
    """Test cases: passed, failed, or skipped where nothing could be measured."""
    found = []
    for line in lines:
        name, group = f"{line.name} {line.wanted}", "edgemon.requirements"
        if line.met:
            found.append(junit.Case(name, group))
        else:
            outcome = junit.SKIPPED if line.measured is None else junit.FAILED
            found.append(junit.Case(name, group, outcome, str(line)))
    return found
