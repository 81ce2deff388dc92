"""A command of the command line: options in groups, examples as they are typed, and what is named
on the line checked before anything heavy is imported."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from edgemon.compiler.commands import configuration, early, typed
from edgemon.compiler.commands.junit import OPTION, of_mistakes, of_usage

OTHER = "Options"
STUDIES, STUDIED = "Measurements and studies", "edgemon.bench"
PANELS = {  # by the names of parameters, whichever command has them
    "Rows": (
        "data", "fit", "calibrate", "test", "reference", "novel", "novel_data", "label_column",
        "labels", "group", "repeats", "shared_rows", "exif", "expect_accuracy", "drifted",
    ),
    "The model": (
        "output", "input_", "preprocess", "classes", "label_order", "decision_threshold", "convert",
        "companion", "float_model", "workers", "threads", "kernels",
    ),
    "Monitors": (
        "monitor", "profile", "mirror", "thresholds", "taps", "early_exit", "guard", "full_scale",
        "augment",
    ),
    "What is promised": (
        "false_alarm", "miss_rate", "confidence", "promise", "per_class", "drift_run_length",
        "certify_kernels",
    ),
    "Target, budgets and requirements": (
        "target", "budget", "budgets", "budget_kb", "budget_us", "require", "compare", "baseline",
    ),
    "What is written": (
        "out", "force", "c_header", "html", "markdown", "json", "json_lines", "junit",
        "annotations", "google_benchmark", "benchmark_model", "no_examples", "timings", "verbose",
        "plot", "toml", "reports", "device",
    ),
}  # fmt: skip
PANEL_OF = {name: panel for panel, names in PANELS.items() for name in names}


class Command(TyperCommand):
    """What each command is."""

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **more: Any) -> Any:
        given = list(args)
        try:
            return super().make_context(info_name, args, parent, **more)
        except Exception as error:
            has_junit = any(OPTION in param.opts for param in self.params)
            if has_junit and hasattr(error, "format_message"):  # of usage: no option was read
                configured = (getattr(parent, "default_map", None) or {}).get(info_name, {})
                junit = [OPTION, configured["junit"]] if "junit" in configured else []
                of_usage([*junit, *given], str(self.name), error.format_message())
            raise

    def invoke(self, ctx: Any) -> Any:
        _say_what_is_configured(self.params, ctx)
        with of_mistakes(ctx.params.get("junit"), str(self.name)):
            for param in self.params:
                given = ctx.params.get(str(param.name))
                _require_named(param, given)
                typed.require(param, given)
            return super().invoke(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then options by what they are about."""
        panels: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                is_option = param.param_type_name == "option"
                panel = PANEL_OF.get(str(param.name), OTHER) if is_option else "Arguments"
                panels[panel].append(record)
        for panel in ("Arguments", *PANELS, OTHER):
            if records := panels.get(panel):
                with formatter.section(panel):
                    formatter.write_dl(records)

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        """Lines of an example as they stand: who copies one copies what works."""
        if self.epilog:
            formatter.write_paragraph()
            formatter.write("Example:\n")
            for line in self.epilog.strip().splitlines():
                formatter.write(f"  {line.strip()}\n")


class Commands(TyperGroup):
    """A group of commands, which says of each its whole first sentence."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """What a user of bundles needs, then measurements and studies, which lie in ``bench``."""
        panels: dict[str, list[tuple[str, str]]] = defaultdict(list)
        for name in self.list_commands(ctx):
            command = self.get_command(ctx, name)
            if command is not None and not command.hidden:
                first = " ".join((command.help or "").strip().partition("\n\n")[0].split())
                panels[_panel_of(command)].append((name, first))
        for title, rows in panels.items():
            with formatter.section(title):
                formatter.write_dl(rows)


def _panel_of(command: Any) -> str:
    below = list(getattr(command, "commands", {}).values())
    callback = (below[0] if below else command).callback
    return STUDIES if STUDIED in getattr(callback, "__module__", "") else "Commands"


def dress(app: typer.Typer) -> None:
    """Make all commands of an app, and of those below it, such commands."""
    for info in app.registered_commands:
        info.cls = Command
    for group in app.registered_groups:
        group.cls = Commands
        if group.typer_instance is not None:
            dress(group.typer_instance)


def _say_what_is_configured(params: Any, ctx: Any) -> None:
    taken = configuration.taken(params, ctx)
    if taken:
        said = ", ".join(f"{option} {value}" for option, value in taken.items())
        typer.echo(f"options of {ctx.find_root().obj['configuration']}: {said}", err=True)


def _require_named(param: Any, given: Any) -> None:
    """Raises EdgemonError for a bundle, a model or rows that are not there."""
    metavar = getattr(param, "metavar", None) or ""
    values = given if isinstance(given, list | tuple) else [given]
    for value in values:
        if param.param_type_name == "argument" and isinstance(value, Path):
            if "BUNDLE" in metavar and "MODEL" in metavar:
                early.require_model_or_bundle(value)
            elif "MODEL" in metavar:
                early.require_model(value)
            elif metavar.startswith(("SPEC", "STUDY")):
                early.require_toml(value)
            elif metavar.startswith("FILE"):
                early.require_file("", value)
            elif metavar.startswith("BUNDLE"):
                early.require_bundle(value)
        elif metavar == "TARGET" and isinstance(value, str):
            early.require_target(value)
