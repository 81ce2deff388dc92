"""The commands ``target list``, ``check``, ``table``, ``rows``, ``taps`` and ``compare``: thin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgemon.compiler.commands.budget_options import Annotations, Budgets, Junit
from edgemon.compiler.commands.cli import DATA_HELP, Json, LabelColumn

app = typer.Typer()
target_app = typer.Typer(no_args_is_help=True)
app.add_typer(
    target_app, name="target", help="The devices that edgemon knows, and a bundle on one of them."
)


@target_app.command("list", epilog="edgemon target list")
def list_(json: Json = False) -> None:
    """The targets: toolchain and emulator found, or what to install."""
    from edgemon import targets
    from edgemon.compiler.commands.target_check import describe, show_list
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    found = [describe(targets.load(name)) for name in targets.names()]
    show_list(terminal, found)
    terminal.document(found)


@target_app.command(
    epilog="edgemon target check cortex-m4f BUNDLE --data DATA.npz --budgets budgets.toml",
)
def check(
    name: Annotated[
        str, typer.Argument(metavar="TARGET", help="A name of `target list`, or a .toml file.")
    ],
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    data: Annotated[
        str | None,
        typer.Option(help=f"Rows to run: {DATA_HELP}. Default: the vectors of the self-test."),
    ] = None,
    label_column: LabelColumn = None,
    budget: Annotated[
        str,
        typer.Option(
            help="Limits: code_bytes=9000,flash_bytes=65536,ram_bytes=4096,stack_bytes=1000,"
            "instructions=50000. One that is missed gives exit code 3."
        ),
    ] = "",
    budgets: Budgets = None,
    junit: Junit = None,
    annotations: Annotations = None,
    json: Json = False,
) -> None:
    """Cross-build a bundle's artifact, run it in the target's emulator, compare every bit with the
    reference, and measure code, memory, stack and instructions."""
    from edgemon import targets
    from edgemon.compiler.commands import budget_files
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    target = targets.load(name)
    limits = budget_files.of_target(terminal, budget, budgets, target, name)
    budget_files.require_stated(limits, junit, annotations)
    from edgemon.compiler.bundle.bundle import Bundle
    from edgemon.compiler.commands import target_check

    opened = Bundle.open(bundle)
    opened.require_intact()
    rows = target_check.taps_of(opened, data, label_column, terminal)
    with terminal.stage(f"running on {target.name}"):
        found = target_check.check(target, opened.artifact_bytes, rows)
    target_check.show(terminal, found)
    terminal.document(found.to_json())
    found.proof.require()
    lines = target_check.check_limits(
        target, limits, opened.artifact.program, opened.artifact_bytes, rows, found
    )
    budget_files.finish(terminal, lines, budgets, junit, annotations, suite=bundle.name)


@target_app.command(epilog="edgemon target table BUNDLE --data DATA.npz --markdown")
def table(
    bundle: Annotated[
        Path | None, typer.Argument(metavar="BUNDLE", help="Default: only the runtime, all ops.")
    ] = None,
    data: Annotated[
        str | None,
        typer.Option(help=f"Rows to run: {DATA_HELP}. Default: the vectors of the self-test."),
    ] = None,
    label_column: LabelColumn = None,
    names: Annotated[
        str, typer.Option("--targets", help="Which: cortex-m4f,aarch64. Default: all that ship.")
    ] = "",
    monitors: Annotated[
        str,
        typer.Option(
            "--monitors", metavar="TARGETS",
            help="Count instructions of each monitor alone on these targets.",
        ),
    ] = "",
    instructions_a_mac: Annotated[
        float,
        typer.Option(
            min=0.01, max=1000,
            help="Instructions that the model's kernels take for a multiply-accumulate.",
        ),
    ] = 1.0,
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables to paste.")] = False,
    json: Json = False,
) -> None:  # fmt: skip
    """What the runtime takes on every target, and what a bundle and each of its monitors take."""
    from edgemon.compiler.bundle.bundle import Bundle
    from edgemon.compiler.commands import target_check, target_table
    from edgemon.compiler.errors import CompileError
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json, markdown=markdown)
    chosen = target_table.require_names(names)
    on = target_table.require_names(monitors) if monitors else []
    if bundle is None:
        if data or monitors:
            raise CompileError("--data and --monitors are of a bundle: name one")
        everything = target_table.footprints(chosen)
        target_table.show_footprints(terminal, everything)
        terminal.document(target_table.to_json(everything, {}, [], None, instructions_a_mac))
        return
    opened = Bundle.open(bundle)
    opened.require_intact()
    rows = target_check.taps_of(opened, data, label_column, terminal)
    found = target_table.checked(chosen, opened.artifact_bytes, rows, terminal)
    target_table.show_checked(terminal, found)
    each, macs = [], None
    if on:
        macs = target_table.macs_of(opened)
        each = target_table.each_monitor(on, opened.artifact.program, rows, terminal)
        target_table.show_monitors(terminal, each, macs, instructions_a_mac)
    terminal.document(target_table.to_json({}, found, each, macs, instructions_a_mac))


@target_app.command(epilog="edgemon target rows BUNDLE --data 'DATA.npz[0:20]' --out rows")
def rows(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    out: Annotated[Path, typer.Option(help="Folder to write rows.bin and sizes.h to.")],
    data: Annotated[str | None, typer.Option(help=f"Rows: {DATA_HELP}.")] = None,
    label_column: LabelColumn = None,
) -> None:
    """What a board's harness needs of recorded rows: see docs/porting.md."""
    from edgemon.compiler.bundle.bundle import Bundle
    from edgemon.compiler.commands import target_check, target_log
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal()
    opened = Bundle.open(bundle)
    opened.require_intact()
    taps = target_check.taps_of(opened, data, label_column, terminal)
    terminal.note(target_log.write_rows(opened, taps, out))


@target_app.command(epilog="edgemon target taps BUNDLE --data 'DATA.npz[0:20]' --out taps")
def taps(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    out: Annotated[Path, typer.Option(help="New folder for taps.bin and the artifacts.")],
    data: Annotated[
        str | None,
        typer.Option(help=f"Rows to record: {DATA_HELP}. Default: the vectors of the self-test."),
    ] = None,
    most: Annotated[
        int, typer.Option("--rows", min=1, help="Record at most so many, the first.")
    ] = 256,
    label_column: LabelColumn = None,
) -> None:
    """What edgemon-bench needs on a device without Python: see docs/porting.md."""
    from edgemon.compiler.bundle.bundle import Bundle
    from edgemon.compiler.commands import target_check, target_taps
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal()
    opened = Bundle.open(bundle)
    opened.require_intact()
    recorded = target_check.taps_of(opened, data, label_column, terminal)
    terminal.note(target_taps.write_taps(opened, recorded, out, most))


@target_app.command(epilog="edgemon target compare BUNDLE --data 'DATA.npz[0:20]' --log uart.log")
def compare(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    log: Annotated[Path, typer.Option(help="What the board's harness printed.")],
    data: Annotated[
        str | None, typer.Option(help="The rows of `target rows`, given in the same way.")
    ] = None,
    label_column: LabelColumn = None,
    json: Json = False,
) -> None:
    """Compare what a board printed with the reference, bit for bit: see docs/porting.md."""
    from edgemon.compiler.bundle.bundle import Bundle
    from edgemon.compiler.commands import target_check, target_log
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    opened = Bundle.open(bundle)
    opened.require_intact()
    taps = target_check.taps_of(opened, data, label_column, terminal)
    proof = target_log.read_log(opened, taps, log)
    terminal.document(target_log.to_json(proof))
    proof.require()
    terminal.note(
        f"0 of {proof.rows:,} rows differ from the reference; results "
        f"{(proof.result_sha256 or '')[:16]}"
    )
