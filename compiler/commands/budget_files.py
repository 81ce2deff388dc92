"""Budgets of a command: read from a flag and a file; what is over, by how much and what would help,
as a table, as JUnit and as annotations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from edgemon.compiler.commands import junit
from edgemon.compiler.commands.written import write_beside
from edgemon.compiler.cost import limits
from edgemon.compiler.cost.limits import BudgetLine, Limit
from edgemon.compiler.errors import CompileError
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.terminal import Terminal
from edgemon.targets import Target


def read(
    flag: str, file: Path | None, names: Mapping[str, str], target: str | None = None
) -> list[Limit]:
    """The limits of ``--budget``, named as in ``names`` and about ``target``, and the file's."""
    return limits.parse(flag, names, target) + ([] if file is None else limits.load(file))


def of_target(
    reporter: Reporter, flag: str, file: Path | None, target: Target, given: str
) -> list[Limit]:
    """Those about one target, by its name or as it was given; of others a file may state more,
    which is said."""
    found = read(flag, file, limits.ON_TARGET, target.name)
    own = {target.name, given}
    others = {limit.target or "bench" for limit in found} - own
    if others:
        reporter.note(f"{file}: not checked here: {', '.join(sorted(others))}")
    return [limit for limit in found if limit.target in own]


def require_stated(
    limits_: Sequence[object], junit_file: Path | None, annotations: Path | None
) -> None:
    """Raises CompileError where nothing is limited, and the outcome of that is to be written."""
    if not limits_ and (junit_file or annotations):
        raise CompileError("--junit and --annotations are about budgets: give --budgets too")


def finish(
    terminal: Terminal,
    lines: list[BudgetLine],
    stated_in: Path | None,
    junit_file: Path | None,
    annotations: Path | None,
    *,
    suite: str,
) -> None:
    """Show and write; raises as ``limits.require``."""
    require_stated(lines, junit_file, annotations)
    show(terminal, lines)
    if junit_file is not None:
        write_junit(junit_file, lines, suite)
    if annotations is not None:
        write_annotations(annotations, lines, stated_in)
    limits.require(lines)


def show(terminal: Terminal, lines: list[BudgetLine]) -> None:
    """One line a budget; those that are missed first."""
    if not lines:
        return
    ordered = sorted(lines, key=lambda line: (line.met, line.measured is not None))
    terminal.table(
        ("budget", "limit", "measured", "over by", "", "what would help"),
        [
            (
                line.limit.title, f"{line.limit.limit:,.10g}",
                "" if line.measured is None else f"{line.measured:,.10g}",
                "" if line.over is None else f"{line.over:,.10g}",
                "met" if line.met else "not measured" if line.measured is None else "MISSED",
                line.why or "; or ".join(line.changes),
            )
            for line in ordered
        ],
    )  # fmt: skip


def write_junit(path: Path, lines: list[BudgetLine], suite: str) -> None:
    """A test case a budget: passed, failed, or skipped where it was not measured."""
    junit.write(path, suite, [_case(line) for line in lines])


def _case(line: BudgetLine) -> junit.Case:
    place = f"edgemon.budgets.{line.limit.target or 'bench'}"
    if line.measured is None:
        return junit.Case(line.limit.title, place, junit.SKIPPED, str(line))
    if line.met:
        return junit.Case(line.limit.title, place)
    return junit.Case(line.limit.title, place, junit.FAILED, str(line), "; or ".join(line.changes))


def write_annotations(path: Path, lines: list[BudgetLine], stated_in: Path | None) -> None:
    """Workflow commands of GitHub, one for each budget that is not met: a step prints the file."""
    text = "".join(_command(line, stated_in) + "\n" for line in lines if not line.met)
    write_beside(
        path, lambda temporary: temporary.write_text(text, encoding="utf-8"), "--annotations"
    )


def _command(line: BudgetLine, stated_in: Path | None) -> str:
    level = "warning" if line.measured is None else "error"
    where = {"title": f"budget {line.limit.title}"}
    if stated_in is not None:
        where = {"file": str(stated_in), "line": str(line.limit.line or 1), **where}
    properties = ",".join(f"{key}={_escaped(v, ',:')}" for key, v in where.items())
    help_ = f". What would help: {'; or '.join(line.changes)}" if line.changes else ""
    return f"::{level} {properties}::{_escaped(str(line) + help_)}"


def _escaped(text: str, also: str = "") -> str:
    for character in "%\r\n" + also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text
