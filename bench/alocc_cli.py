"""The commands ``alocc``: thin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgemon.compiler.commands.cli import DATA_HELP, Json
from edgemon.compiler.commands.reading_options import (
    ClassNames,
    LabelOrder,
    Preprocessing,
    reading_of,
)

app = typer.Typer(
    name="alocc", no_args_is_help=True, help="Images that a network trained on each class redraws."
)


@app.command(epilog="edgemon alocc train MODEL.tflite --data DATA.npz --out companion.tflite")
def train(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="The classifier.")],
    data: Annotated[str, typer.Option(help=f"Labelled images to learn from: {DATA_HELP}.")],
    out: Annotated[Path, typer.Option(help="The companion, a .tflite; a folder if --per-class.")],
    epochs: Annotated[int, typer.Option(min=1, help="At most.")] = 60,
    width: Annotated[int, typer.Option(min=1, help="Channels of the first level.")] = 16,
    sigma: Annotated[float, typer.Option(min=0, help="Noise, in parts of the range.")] = 0.1,
    weight: Annotated[float, typer.Option(min=0, help="Of the squared error (lambda).")] = 0.4,
    patience: Annotated[int, typer.Option(min=1, help="Epochs without gain before it stops.")] = 8,
    per_class: Annotated[
        bool, typer.Option("--per-class", help="A network a class, as published.")
    ] = False,
    group: Annotated[
        str | None, typer.Option(help="Rows that belong together, as `compile --group`.")
    ] = None,
    preprocess: Preprocessing = "",
    label_order: LabelOrder = "numeric",
    classes: ClassNames = "",
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    json: Json = False,
) -> None:
    """Train a companion that redraws images of the class which the classifier answers."""
    from edgemon.bench.alocc.run import require_tensorflow, run
    from edgemon.compiler.terminal import Terminal

    require_tensorflow()
    from edgemon.bench.alocc.training import Plan

    terminal = Terminal(as_json=json)
    plan = Plan(epochs, width, sigma, weight, patience=patience, seed=seed)
    document = run(
        model, data, out, plan, reading_of(preprocess, label_order, classes), group=group,
        per_class=per_class, reporter=terminal,
    )  # fmt: skip
    for one in document["trained"]:
        of = "" if one["class"] is None else f"class {one['class']}: "
        terminal.note(
            f"{of}least validation error {one['validation_error']:.5f} after epoch "
            f"{one['best_epoch']} of {one['epochs']}; {one['rows']} rows, and "
            f"{one['validation_rows']} to validate on"
        )
    terminal.note(f"{out}: {document['bytes']:,} bytes, {document['seconds']} s of training")
    terminal.document(document)


@app.command(
    epilog="edgemon alocc study SPEC.toml --root DATA --case NAME --companion C.tflite",
)
def study(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", help="Models, data, faults, as farm takes them.")
    ],
    companion: Annotated[
        list[Path], typer.Option(help="What `alocc train` made: a file, or a folder; repeatable.")
    ],
    case: Annotated[str, typer.Option(help="Which case of SPEC.")],
    root: Annotated[
        Path | None, typer.Option(help="Folder of the files it names (default: where SPEC is).")
    ] = None,
    monitors: Annotated[str, typer.Option(help="Beside it, as a,b.")] = "density,box,odin_t,msp_t",
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown tables.")] = False,
    json: Json = False,
) -> None:
    """What the error of redrawn images is worth beside monitors, on the sets of farm."""
    from edgemon.bench.alocc.show import show
    from edgemon.bench.alocc.study import run
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json, markdown=markdown)
    names = tuple(filter(None, map(str.strip, monitors.split(","))))
    document = run(spec, root, case, companion, names, workers=workers, reporter=terminal)
    show(document, terminal)
    terminal.document(document)
