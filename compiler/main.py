"""The ``edgemon`` command: collects the commands of all packages and turns errors into sentences.

Nothing heavy is imported here or by the command modules at import time, so that
``edgemon --help`` is quick; TensorFlow is never imported.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points, version
from typing import TYPE_CHECKING, Annotated, Any

from edgemon.runtime.errors import EdgemonError

if TYPE_CHECKING:
    import typer

GROUP = "edgemon.commands"
DEBUG = "EDGEMON_DEBUG"  # set it to see the traceback of an internal error


def build_app() -> typer.Typer:
    """The root application, with the commands of every installed package of edgemon."""
    import typer
    from typer.core import TyperGroup

    class Group(TyperGroup):
        """Every error becomes one sentence and its exit code."""

        def invoke(self, ctx: Any) -> Any:
            try:
                return super().invoke(ctx)
            except EdgemonError as error:
                typer.echo(f"edgemon: {error}", err=True)
                raise typer.Exit(error.exit_code) from None
            except (BrokenPipeError, typer.Exit, typer.Abort):
                raise
            except Exception as error:
                if _is_usage(error) or os.environ.get(DEBUG):
                    raise
                typer.echo(
                    f"edgemon: internal error ({type(error).__name__}: {error}); please report it "
                    f"with the command, and the traceback that {DEBUG}=1 shows",
                    err=True,
                )
                raise typer.Exit(1) from None

    app = typer.Typer(
        cls=Group,
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        add_completion=False,
        help="Compile runtime monitors for neural networks, prove them, and measure their cost.",
    )

    @app.callback()
    def root(
        show_version: Annotated[  # noqa: ARG001 - handled by its callback
            bool, typer.Option("--version", callback=_print_version, is_eager=True)
        ] = False,
    ) -> None:
        pass

    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name, reverse=True):
        app.registered_commands += entry.load().registered_commands
    return app


def _is_usage(error: Exception) -> bool:
    """Is it a usage error, which the command line library reports by itself?"""
    return hasattr(error, "exit_code") and hasattr(error, "format_message")


def _print_version(wanted: bool) -> None:
    if wanted:
        import typer

        typer.echo(f"edgemon {version('edgemon')}")
        raise typer.Exit


def main() -> None:
    """Entry point of the console script."""
    try:
        import typer  # noqa: F401 - only to see whether it is there
    except ImportError:
        print(
            "edgemon: the commands need more than the device runtime: "
            "pip install 'edgemon[compile]'",
            file=sys.stderr,
        )
        sys.exit(2)
    build_app()()
