"""The commands ``accuracy-*`` of studies, ``trust-study`` and ``odin-study``: thin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Spec = Annotated[Path, typer.Argument(metavar="SPEC.toml", help="What is studied.")]
Root = Annotated[Path | None, typer.Option(help="Where its files lie; by default beside it.")]
Seed = Annotated[int, typer.Option(help="Of every random choice.")]
Workers = Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")]
Markdown = Annotated[bool, typer.Option("--markdown", help="Tables to paste.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


def trust_study(
    spec: Spec,
    root: Root = None,
    html: Annotated[Path | None, typer.Option(help="Also write a page to look at.")] = None,
    seed: Seed = 0,
    workers: Workers = 2,
    markdown: Markdown = False,
    json: Json = False,
) -> None:
    """What the confidence of many models is worth, on their rows and on changed ones."""
    from edgemon.bench.trust.study import run
    from edgemon.compiler.commands.trust import show
    from edgemon.compiler.terminal import Terminal
    from edgemon.compiler.trust import page

    terminal = Terminal(as_json=json, markdown=markdown)
    document = run(spec, root, seed=seed, workers=workers, reporter=terminal)
    show(document["models"], terminal)
    for name, why in document["not_available"].items():
        terminal.note(f"{name}: not available: {why}")
    if html is not None:
        html.write_text(page.render(document["models"]), encoding="utf-8")
        terminal.note(f"page: {html}")
    terminal.document(document)


def odin_study(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A TFLite or ONNX classifier.")],
    data: Annotated[Path, typer.Option(help="Labelled rows, .npz, of classes that it knows.")],
    novel: Annotated[Path, typer.Option(help="Rows, .npz, of classes that it does not know.")],
    float_model: Annotated[
        Path | None, typer.Option(help="Of an integer MODEL: the one that it was made from.")
    ] = None,
    rows: Annotated[int, typer.Option(min=100, help="Of each file.")] = 1000,
    preprocess: Annotated[str, typer.Option(help="As of compile.")] = "",
    label_order: Annotated[str, typer.Option(help="As of compile.")] = "numeric",
    json: Json = False,
) -> None:
    """What the gradient of odin is worth beside odin_t and msp_t, by step, and what it costs."""
    from edgemon.bench.odin_study import Rows, study, table
    from edgemon.compiler.terminal import Terminal
    from edgemon.runtime.preprocess import Preprocess

    terminal = Terminal(as_json=json)
    given = Rows.of(data, novel, rows)
    found = study(model, float_model, given, Preprocess.parse(preprocess), label_order)
    for line in table(found):
        terminal.note(line)
    terminal.document(found)


def accuracy_study(
    spec: Annotated[Path, typer.Argument(metavar="SPEC.toml", help="What is studied.")],
    root: Annotated[
        Path | None, typer.Option(help="Where its files lie; by default beside it.")
    ] = None,
    members: Annotated[int, typer.Option(help="Networks of the published ensemble.")] = 20,
    epochs: Annotated[int, typer.Option(help="That each is trained for.")] = 200,
    draws: Annotated[int, typer.Option(help="Draws of random labels for each set.")] = 2000,
    cases: Annotated[list[str] | None, typer.Option("--case", help="Only these.")] = None,
    chart: Annotated[Path | None, typer.Option(help="Also draw: a .svg or .png.")] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    markdown: Annotated[bool, typer.Option("--markdown", help="Tables to paste.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """How near do estimates of accuracy come to the truth, on rows that are shifted?"""
    from edgemon.bench.accuracy.figure import draw
    from edgemon.bench.accuracy.show import show
    from edgemon.bench.accuracy.study import Plan, run
    from edgemon.bench.replicate.figure import require_matplotlib
    from edgemon.compiler.terminal import Terminal

    if chart is not None:
        require_matplotlib()
    terminal = Terminal(as_json=json, markdown=markdown)
    document = run(spec, root, Plan(members, epochs, draws, workers, seed), cases or [], terminal)
    show(document, terminal)
    if chart is not None:
        draw(document, chart)
        terminal.note(f"wrote {chart}")
    terminal.document(document)


def accuracy_drive(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE", help="After `accuracy fit`.")],
    data: Annotated[str, typer.Option(help="Labelled images, apart from those of the fit.")],
    out: Annotated[Path, typer.Option(help="Folder for the picture.")],
    fault: Annotated[str, typer.Option(help="Of the second third: fog, gaussian, ...")] = "fog",
    severity: Annotated[int, typer.Option(help="Of the fault.")] = 5,
    images: Annotated[int, typer.Option(help="Of each third of the drive.")] = 5000,
    labels: Annotated[float, typer.Option(help="Share of images that come back labelled.")] = 0.02,
    reset: Annotated[
        int, typer.Option(help="So many images after the fault is gone the flag is reset.")
    ] = 500,
    drives: Annotated[int, typer.Option(help="That errors are means of.")] = 20,
    draws: Annotated[int, typer.Option(help="Of windows and labels, for coverage.")] = 400,
    rows: Annotated[int, typer.Option(help="At most so many images of the data.")] = 5000,
    full_scale: Annotated[int, typer.Option(help="Where white is.")] = 255,
    label_column: Annotated[str | None, typer.Option(help="CSV column with the labels.")] = None,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """What a device's estimate of accuracy says on a drive: clean, with a fault, clean again."""
    from edgemon.bench.accuracy.drive import Plan, run, show
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    plan = Plan(
        fault, severity, images, labels, reset, drives=drives, draws=draws, most_rows=rows,
        full_scale=full_scale, seed=seed,
    )  # fmt: skip
    document = run(
        bundle, data, out, plan, label_column=label_column, workers=workers, reporter=terminal
    )
    show(terminal, document)
    terminal.document(document)


def accuracy_signals(
    bundle: Annotated[Path, typer.Argument(metavar="BUNDLE")],
    reference: Annotated[str, typer.Option(help="Labelled rows to learn from.")],
    data: Annotated[str, typer.Option(help="Labelled images to judge, others than those.")],
    faults: Annotated[
        str, typer.Option(help="Faults and severities, also to be judged.")
    ] = "fog:5,gaussian_noise:3",
    members: Annotated[int, typer.Option(help="Networks of the published ensemble.")] = 20,
    epochs: Annotated[int, typer.Option(help="That each is trained for.")] = 200,
    seed: Annotated[int, typer.Option(help="Of every random choice.")] = 0,
    workers: Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")] = 2,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Which signal of being right suits a device: a table, the ensemble, or one small network?"""
    from edgemon.bench.accuracy.signals import pairs, run, show
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    document = run(
        bundle, reference, data, pairs(faults), members=members, epochs=epochs, seed=seed,
        workers=workers, reporter=terminal,
    )  # fmt: skip
    show(terminal, document)
    terminal.document(document)
