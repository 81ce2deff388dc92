"""Every command that a document prints exists, with its options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import typer

from edgemon.compiler.commands.root import app
from tests.docs.commands import Command, of_page, pages, split

ROOT = typer.main.get_command(app)


def problems(command: Command) -> Iterator[str]:
    """What of it there is not."""
    node: Any = ROOT
    words = list(command.words)
    while words and hasattr(node, "commands"):
        if words[0] in node.commands:
            node = node.commands[words.pop(0)]
        elif words[0].startswith("-") or words[0] == "COMMAND":
            break
        else:
            yield f"no command {words[0]!r}"
            return
    known = {o for p in node.params for o in (*p.opts, *p.secondary_opts)} | {"-h", "--help"}
    for word in words:
        option = word.partition("=")[0].rstrip(",.:)")
        if option.startswith("--") and option != "--" and option not in known:
            yield f"no option {option}"


def test_there_are_commands_to_hold() -> None:
    found = [c for page in pages() for c in of_page(page)]
    assert len(found) > 150
    assert {c.words[0] for c in found} >= {
        "compile",
        "run",
        "verify",
        "bench",
        "accuracy",
        "target",
    }


@pytest.mark.parametrize("page", pages(), ids=lambda p: p.name)
def test_commands_of_documents_exist(page: Any) -> None:
    found = [f"{command}: {problem}" for command in of_page(page) for problem in problems(command)]
    assert found == []


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("compil MODEL", ["no command 'compil'"]),
        ("run BUNDLE --dta X", ["no option --dta"]),
        ("accuracy estmate BUNDLE", ["no command 'estmate'"]),
        ("run BUNDLE --data 'x; y --no' [--json]      one --such a row", []),
    ],
)
def test_a_command_that_is_not_is_found(line: str, says: list[str]) -> None:
    assert list(problems(Command("here", split(line)))) == says
