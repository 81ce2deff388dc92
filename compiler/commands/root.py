"""The root of the command line: collects the commands of all packages, turns errors into sentences.

Nothing heavy is imported here or by the command modules at import time, so that
``edgemon --help`` is quick; TensorFlow is never imported.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer

from edgemon.compiler.answer import Answer, answering, is_asked_for
from edgemon.compiler.commands import configuration
from edgemon.compiler.commands.command import Commands, dress
from edgemon.runtime.errors import EdgemonError

GROUP = "edgemon.commands"
FIRST = ("compiler", "bundles", "target", "accuracy", "trust", "bench")  # of these entry points
DEBUG = "EDGEMON_DEBUG"  # set it to see the traceback of an internal error


class _Group(Commands):
    """Every error becomes one sentence and its exit code; with ``--json`` a document too."""

    def main(self, *arguments: Any, **more: Any) -> Any:
        args: Sequence[str] | None = arguments[0] if arguments else more.get("args")
        given = sys.argv[1:] if args is None else list(args)
        self._answer = Answer()
        try:
            with answering(self._answer):
                return super().main(*arguments, **more)
        except SystemExit as stop:
            if stop.code and is_asked_for(given):
                self._answer.fail(stop.code if isinstance(stop.code, int) else 1)
            raise

    def make_context(self, *args: Any, **more: Any) -> Any:
        try:
            given = more["args"] if "args" in more else args[1]
            asks = {"-h", "--help", "--version"} & {*given}
            found = None if asks else configuration.find(Path.cwd())
            if found is not None:
                more["default_map"] = configuration.default_map(self, *found)
                more["obj"] = {"configuration": found[0]}
        except EdgemonError as error:
            self._fail(str(error), error.exit_code)
        except OSError as error:
            self._fail(f"the working folder cannot be read: {error.strerror}; go to another", 2)
        with self._noting():
            return super().make_context(*args, **more)

    def invoke(self, ctx: Any) -> Any:
        try:
            with self._noting():
                result = super().invoke(ctx)
                self._answer.give()
                return result
        except EdgemonError as error:
            self._fail(str(error), error.exit_code)
        except (BrokenPipeError, typer.Exit, typer.Abort):
            raise
        except OSError as error:
            where = f"{error.filename}: " if error.filename else ""
            self._fail(f"{where}{error.strerror or error}", 2)
        except ModuleNotFoundError as error:
            if os.environ.get(DEBUG):
                raise
            self._fail(
                f"this command needs more than is installed ({error.name} is missing): pip install "
                "'edgemon[compile]'",
                2,
            )
        except Exception as error:
            if _is_usage(error) or os.environ.get(DEBUG):
                raise
            self._fail(
                f"internal error ({type(error).__name__}: {error}); please report it "
                f"with the command, and the traceback that {DEBUG}=1 shows",
                1,
            )

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """The sentence of what the command line library reports by itself."""
        try:
            yield
        except KeyboardInterrupt:
            self._answer.error = "interrupted"
            raise
        except Exception as error:
            if _is_usage(error):
                self._answer.error = error.format_message()  # type: ignore[attr-defined]
            raise

    def _fail(self, sentence: str, exit_code: int) -> NoReturn:
        self._answer.error = sentence
        typer.echo(f"edgemon: {sentence}", err=True)
        raise typer.Exit(exit_code) from None


def _is_usage(error: Exception) -> bool:
    """Is it a usage error, which the command line library reports by itself?"""
    return hasattr(error, "exit_code") and hasattr(error, "format_message")


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"edgemon {version('edgemon')}")
        raise typer.Exit


def _place(name: str) -> int:
    """Where the commands of an entry point stand in --help: own ones first."""
    return FIRST.index(name) if name in FIRST else len(FIRST)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # which cuts names at 80 columns, and makes a picture of mean=a:b:c
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def root(
    show_version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Compile runtime monitors for neural networks, prove them, and measure their cost."""


for _entry in sorted(entry_points(group=GROUP), key=lambda e: (_place(e.name), e.name)):
    _brought = _entry.load()
    app.registered_commands += _brought.registered_commands
    app.registered_groups += _brought.registered_groups
dress(app)
