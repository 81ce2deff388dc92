"""The command ``robustness``: thin."""

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


def robustness(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL|BUNDLE...", help="One, or several to lay side by side."),
    ],
    data: Annotated[str, typer.Option(help=f"Labelled images: {DATA_HELP}.")],
    properties: Annotated[
        str,
        typer.Option(
            help="What changes: noise, rotation, brightness with the published values, one value "
            "(rotation=10), a range of 13 (rotation=-45:45), or any fault of `shift` (fog=1:5)."
        ),
    ] = "noise,rotation,brightness",
    combine: Annotated[
        str,
        typer.Option(
            help="How two answers are combined: add, max (classes that are numbers), both, vote."
        ),
    ] = "",
    rows: Annotated[int, typer.Option(min=1, help="Right rows of each class, at most.")] = 200,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of every two classes.")] = 200,
    label_column: LabelColumn = None,
    preprocess: Preprocessing = "",
    label_order: LabelOrder = "numeric",
    classes: ClassNames = "",
    full_scale: Annotated[
        int, typer.Option(min=1, max=255, help="The value of full brightness in the images.")
    ] = 255,
    require: Annotated[
        str,
        typer.Option(
            help="robust(rotation=10)>=0.8,robust_class(noise=0.1)>=0.5: exit code 3 for one that "
            "is missed."
        ),
    ] = "",
    resume: Annotated[
        Path | None, typer.Option(help="A folder that keeps answers: a run that stopped goes on.")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page to look at.")] = None,
    no_examples: NoExamples = False,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables to paste.")] = False,
    json: Json = False,
) -> None:
    """What breaks answers that were right: one property at a time, and two answers together."""
    from edgemon.compiler.faults.properties import parse
    from edgemon.compiler.trust import requirements

    changes, wanted = tuple(parse(properties)), requirements.parse(require)
    kinds = ("robust", "robust_class", "global")
    figures = [f"{kind}({change})" for kind in kinds for change in changes]
    requirements.require_known(wanted, (*requirements.OF_TRUST, *figures))
    from edgemon.bench.robustness import page, study
    from edgemon.bench.robustness.show import show, side_by_side
    from edgemon.compiler.commands.trust import names_of
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json, markdown=markdown)
    reading = reading_of(preprocess, label_order, classes)
    plan = study.Plan(
        changes, combine, rows, pairs, full_scale, resume, seed, workers,
        examples=not no_examples, pictures=html is not None,
    )  # fmt: skip
    found = []
    for path, name in zip(models, names_of(models), strict=True):
        document = study.run(
            path, data, reading, plan, label_column=label_column, reporter=terminal
        )  # fmt: skip
        found.append({**document, "name": name})
        show(found[-1], terminal)
    side_by_side(found, terminal)
    if html is not None:
        html.write_text(page.render(found), encoding="utf-8")
        terminal.note(f"page: {html}")
    terminal.document({**found[0], **({"models": found} if len(found) > 1 else {})})
    for document in found:
        for line in requirements.require(wanted, study.figures(document)):
            terminal.note(f"{document['name']}: {line}")
