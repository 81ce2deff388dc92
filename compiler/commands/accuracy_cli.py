"""The commands ``accuracy fit``, ``estimate``, ``label`` and ``update``: thin."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from edgemon.compiler.commands import early
from edgemon.compiler.commands.cli import DATA_HELP, Json, LabelColumn

app = typer.Typer()
accuracy_app = typer.Typer(no_args_is_help=True)
app.add_typer(
    accuracy_app, name="accuracy", help="How often the model is right in the field, and how surely."
)

BundlePath = Annotated[Path, typer.Argument(metavar="BUNDLE")]
UserRows = Annotated[str, typer.Option(help=f"The rows in question: {DATA_HELP}.")]
Seed = Annotated[int, typer.Option(help="Of every random choice.")]
Workers = Annotated[int, typer.Option(min=1, max=64, help="Processes that run the model.")]


@accuracy_app.command(epilog="edgemon accuracy fit BUNDLE --data REFERENCE.npz")
def fit(
    bundle: BundlePath,
    data: Annotated[
        str,
        typer.Option(
            help=f"Labelled rows that the model was not trained on, and the monitors not fitted: "
            f"{DATA_HELP}."
        ),
    ],
    label_column: LabelColumn = None,
    members: Annotated[
        int, typer.Option(min=0, help="Networks of the published ensemble; 0 leaves it out.")
    ] = 20,
    epochs: Annotated[int, typer.Option(min=1, help="That each of them is trained for.")] = 200,
    monte_carlo: Annotated[
        bool, typer.Option("--monte-carlo", help="Units drop out also when rows are judged.")
    ] = False,
    window: Annotated[
        int, typer.Option(help="Images of the field that a device's estimate is about.")
    ] = 1000,
    seed: Seed = 0,
    workers: Workers = 2,
    json: Json = False,
) -> None:
    """Learn from labelled reference rows what scores say of right and wrong; write it into the
    bundle, for the device too."""
    early.require_within("--window", window, 64, 1 << 20)
    from edgemon.compiler.commands import accuracy
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    terminal.document(
        accuracy.fit(
            bundle, data, label_column=label_column, members=members, epochs=epochs,
            monte_carlo=monte_carlo, window=window, seed=seed, workers=workers, terminal=terminal,
        )
    )  # fmt: skip


@accuracy_app.command(epilog="edgemon accuracy estimate BUNDLE --data FIELD.npz --json")
def estimate(
    bundle: BundlePath,
    data: UserRows,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Of rows that carry labels use so many, drawn at random: 250, or 1%. 0: none. "
            "Default: those that came back by `accuracy update`."
        ),
    ] = None,
    labelled: Annotated[
        Path | None, typer.Option(help="A list of labels, as `accuracy label` writes it.")
    ] = None,
    label_column: LabelColumn = None,
    untrusted: Annotated[
        bool,
        typer.Option(
            "--untrusted", help="Show estimates without labels also where a shift was seen."
        ),
    ] = False,
    seed: Seed = 0,
    workers: Workers = 2,
    json: Json = False,
) -> None:
    """How often is the model right on these rows? With an interval, and on what it stands."""
    from edgemon.compiler.commands import accuracy
    from edgemon.compiler.errors import CompileError
    from edgemon.compiler.terminal import Terminal

    if labels is not None and labelled is not None:
        raise CompileError("--labels and --labelled: give one of the two")
    terminal = Terminal(as_json=json)
    terminal.document(
        accuracy.estimate(
            bundle, data, label_column=label_column, labels=labels, labelled=labelled,
            untrusted=untrusted, seed=seed, workers=workers, terminal=terminal,
        )
    )  # fmt: skip


@accuracy_app.command(
    epilog="edgemon accuracy label BUNDLE --data FIELD.npz --rows 250 --out to_label",
)
def label(
    bundle: BundlePath,
    data: UserRows,
    rows: Annotated[str, typer.Option(help="How many to label: 250, or 1%.")] = "1%",
    out: Annotated[
        Path,
        typer.Option(help="A new .csv, or a new folder: with the images and a page to label in."),
    ] = Path("labels.csv"),
    choose: Annotated[
        str, typer.Option(help="Which: random, stratified (by score), or most-entropy (published).")
    ] = "random",
    label_column: LabelColumn = None,
    seed: Seed = 0,
    workers: Workers = 2,
    json: Json = False,
) -> None:
    """Choose rows that are worth a label, and write them for people."""
    early.require_new(out)
    from edgemon.compiler.commands import accuracy
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    terminal.document(
        accuracy.label(
            bundle, data, label_column=label_column, count=rows, way=choose, out=out, seed=seed,
            workers=workers, terminal=terminal,
        )
    )  # fmt: skip


@accuracy_app.command(
    epilog="edgemon accuracy update BUNDLE --data FIELD.npz --labelled to_label/labels.csv",
)
def update(
    bundle: BundlePath,
    data: UserRows,
    labelled: Annotated[Path, typer.Option(help="The list with its labels filled in.")],
    label_column: LabelColumn = None,
    seed: Seed = 0,
    workers: Workers = 2,
    json: Json = False,
) -> None:
    """Keep labels that came back in the bundle; the next `estimate` of the same rows uses them."""
    from edgemon.compiler.commands import accuracy
    from edgemon.compiler.terminal import Terminal

    terminal = Terminal(as_json=json)
    terminal.document(
        accuracy.update(
            bundle, data, labelled, label_column=label_column, workers=workers, seed=seed,
            terminal=terminal,
        )
    )  # fmt: skip
