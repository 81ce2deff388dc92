"""The command ``trust``: thin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgemon.compiler.commands.cli import DATA_HELP, Json, LabelColumn
from edgemon.compiler.commands.reading_options import (
    ClassNames,
    LabelOrder,
    NoExamples,
    Preprocessing,
    reading_of,
)

app = typer.Typer()


@app.command(
    epilog=(
        "edgemon trust MODEL.tflite --data DATA.npz --html trust.html\n"
        "edgemon trust BUNDLE --data DATA.npz --require 'net_trust>=0.75,ece<=0.05'"
    ),
)
def trust(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL|BUNDLE...", help="One, or several to lay side by side."),
    ],
    data: Annotated[str, typer.Option(help=f"Labelled rows: {DATA_HELP}.")],
    label_column: LabelColumn = None,
    preprocess: Preprocessing = "",
    label_order: LabelOrder = "numeric",
    classes: ClassNames = "",
    scenario: Annotated[
        str, typer.Option(help="Classes by the label (true) or by the answer (predicted).")
    ] = "true",
    alpha: Annotated[float, typer.Option(help="Exponent of right answers' confidence.")] = 1.0,
    beta: Annotated[float, typer.Option(help="Exponent of wrong answers' lack of it.")] = 1.0,
    prior: Annotated[
        str, typer.Option(help="Weight of each class in the score: data, or uniform.")
    ] = "data",
    joint: Annotated[
        bool, typer.Option("--joint", help="Confidences as the paper's equations 7 and 8 print.")
    ] = False,
    require: Annotated[
        str,
        typer.Option(
            help="net_trust>=0.75,class_trust>=0.6,ece<=0.05: exit code 3 for one that is missed."
        ),
    ] = "",
    html: Annotated[Path | None, typer.Option(help="Also write a page to look at.")] = None,
    no_examples: NoExamples = False,
    full_scale: Annotated[
        int, typer.Option(min=1, max=255, help="The value of full brightness, for the pictures.")
    ] = 255,
    seed: Annotated[int, typer.Option(help="Of the bootstrap intervals.")] = 0,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables to paste.")] = False,
    json: Json = False,
) -> None:
    """What is the confidence of a model worth, and of the answers that its monitors let pass?"""
    from edgemon.compiler.trust import requirements

    requirements.require_known(requirements.parse(require), requirements.OF_TRUST)
    from edgemon.compiler.commands import trust as measuring
    from edgemon.compiler.terminal import Terminal

    reading = reading_of(preprocess, label_order, classes)
    measuring.measure(
        models, data, reading, label_column=label_column, scenario=scenario, alpha=alpha,
        beta=beta, prior=prior, joint=joint, require=require, html=html,
        examples=not no_examples, full_scale=full_scale, seed=seed,
        workers=workers, terminal=Terminal(as_json=json, markdown=markdown),
    )  # fmt: skip
