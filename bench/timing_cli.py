"""The commands that time made-up programs and models: thin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def op_times(
    toml: Annotated[
        bool, typer.Option("--toml", help="Print the section of a target profile instead.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Measure how long the parts of an evaluation take on this machine, for a target profile."""
    from edgemon.bench import op_times as study
    from edgemon.bench.errors import BenchError
    from edgemon.compiler.terminal import Terminal

    if json and toml:
        raise BenchError("op-times: --json and --toml are two forms of the same; give one of them")
    terminal = Terminal(as_json=json or toml)
    with terminal.stage("timing small programs") as progress:
        found = study.measure(progress)
    if toml:
        typer.echo(study.to_toml(found.times))
        return
    study.show(terminal, found)
    terminal.document(found.to_json())


def op_bounds(
    cc: Annotated[str | None, typer.Option("--cc", help="C compiler; default cc.")] = None,
    only: Annotated[str, typer.Option("--only", help="Only ops whose name contains this.")] = "",
    rounds: Annotated[
        int | None, typer.Option("--rounds", min=1, help="Of interleaved timing; default 60.")
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            "--target",
            help="Instead: instructions on this target's emulator, as its profile builds, at -O2 "
            "and at -O3.",
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Each op of the C runtime beside plain C at -O3, beside -Os and beside reading its bytes."""
    from edgemon.bench.bounds import on_target
    from edgemon.bench.bounds import run as study
    from edgemon.bench.errors import BenchError
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json, markdown=markdown)
    if target is not None:
        if cc is not None or rounds is not None:
            raise BenchError(
                "op-bounds --target: counts instructions with the target's own compiler, without "
                "--cc and --rounds; leave them out"
            )
        with terminal.stage("counting instructions") as progress:
            counted = on_target.measure(target, only, progress)
        on_target.show(terminal, counted)
        terminal.document(counted.to_json())
        return
    with terminal.stage("timing ops and plain C") as progress:
        found = study.measure(cc, only, rounds or study.ROUNDS, progress)
    study.show(terminal, found)
    terminal.document(study.to_json(found))


def scaling(
    plot: Annotated[
        Path | None, typer.Option(help="Draw the sweeps: a file that ends in .svg, .png or .pdf.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="Of interleaved timing.")] = 50,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """How time and bytes grow with features, classes, trees, boxes, bins and rows."""
    from edgemon.bench import scaling as study
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    if plot is not None:
        study.require_plot(plot)
    with terminal.stage("timing sweeps") as progress:
        found = study.measure(rounds, progress)
    if plot is not None:
        study.plot(found, plot)
    study.show(terminal, found)
    terminal.document(study.to_json(found))


def class_sweep(
    numbers: Annotated[
        str, typer.Option("--classes", help="Numbers of classes, as 2,10,1001.")
    ] = "2,10,43,200,1001",
    seed: Annotated[int, typer.Option(min=0, help="Of models and rows.")] = 0,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Compile made-up models of more and more classes: time, memory and bytes."""
    from edgemon.bench.errors import BenchError
    from edgemon.compiler.terminal import Terminal

    counts = [int(c) if c.strip().isdecimal() else 0 for c in numbers.split(",")]
    if not all(2 <= c <= 10_000 for c in counts):
        raise BenchError(f"--classes {numbers}: give numbers from 2 to 10000, as 2,10,1001")
    from edgemon.bench import class_sweep as study

    terminal = Terminal(as_json=json, markdown=markdown)
    with terminal.stage("compiling") as progress:
        document = study.run(counts, seed, progress)
    study.show(terminal, document)
    terminal.document(document)
