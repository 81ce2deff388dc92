"""The command line's page, by typer's own generator."""

from __future__ import annotations

import os
import re
from typing import Any

TITLE = (
    "# Command line\n\n`edgemon COMMAND --help` says the same. "
    "Exit codes: [home](../index.md#exit-codes).\n\n"
)


def page() -> str:
    """Every command with its options."""
    os.environ.setdefault("COLUMNS", "100")
    import typer
    from typer.cli import get_docs_for_click

    from edgemon.compiler.commands.root import app

    command = typer.main.get_command(app)
    context: Any = command.context_class(command, info_name="edgemon")
    text = get_docs_for_click(obj=command, ctx=context, name="edgemon", title="")
    text = _whole(text, command)
    text = re.sub(r"^# .*\n", "", text, count=1)
    text = re.sub(r"^(#+ )`(edgemon )?(.*?)`$", r"\1\3", text, flags=re.M)
    return TITLE + text


def _whole(text: str, command: Any) -> str:
    """What is said of each command, uncut: lists of commands have but its first words."""
    for name, below in getattr(command, "commands", {}).items():
        first = (below.help or "").strip().partition("\n\n")[0]
        said = " ".join(first.split())
        cut = rf"^(\* `{re.escape(name)}`: ){re.escape(said[:12])}.*$"
        whole = said.replace("\\", r"\\")
        text = re.sub(cut, rf"\g<1>{whole}", text, flags=re.M)
        text = _whole(text, below)
    return text
