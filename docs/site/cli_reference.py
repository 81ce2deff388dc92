"""The command line's page, by typer's own generator."""

from __future__ import annotations

import os
import re

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
    context = command.context_class(command, info_name="edgemon")
    text = get_docs_for_click(obj=command, ctx=context, name="edgemon", title="")
    text = re.sub(r"^# .*\n", "", text, count=1)
    text = re.sub(r"^(#+ )`(edgemon )?(.*?)`$", r"\1\3", text, flags=re.M)
    return TITLE + text
