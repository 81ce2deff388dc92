"""The root of the command line: collects the commands of all packages, turns errors into sentences.

Nothing heavy is imported here or by the command modules at import time, so that
``edgemon --help`` is quick; TensorFlow is never imported.
"""

from __future__ import annotations

import os
from importlib.metadata import entry_points, version
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from edgemon.runtime.errors import EdgemonError

GROUP = "edgemon.commands"
DEBUG = "EDGEMON_DEBUG"  # set it to see the traceback of an internal error


class _Group(TyperGroup):
    """Every error becomes one sentence and its exit code."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except EdgemonError as error:
            typer.echo(f"edgemon: {error}", err=True)
            raise typer.Exit(error.exit_code) from None
        except (BrokenPipeError, typer.Exit, typer.Abort):
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            typer.echo(f"edgemon: {where}{error.strerror or error}", err=True)
            raise typer.Exit(2) from None
        except Exception as error:
            if _is_usage(error) or os.environ.get(DEBUG):
                raise
            typer.echo(
                f"edgemon: internal error ({type(error).__name__}: {error}); please report it "
                f"with the command, and the traceback that {DEBUG}=1 shows",
                err=True,
            )
            raise typer.Exit(1) from None


def _is_usage(error: Exception) -> bool:
    """Is it a usage error, which the command line library reports by itself?"""
    return hasattr(error, "exit_code") and hasattr(error, "format_message")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"edgemon {version('edgemon')}")
        raise typer.Exit


app = typer.Typer(
    cls=_Group, no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False
)


@app.callback()
def root(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Compile runtime monitors for neural networks, prove them, and measure their cost."""


for _entry in sorted(entry_points(group=GROUP), key=lambda e: e.name, reverse=True):
    _brought = _entry.load()
    app.registered_commands += _brought.registered_commands
    app.registered_groups += _brought.registered_groups
