"""Options by which ``trust`` and ``robustness`` read rows for a model that has no bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from edgemon.compiler.trust.judge import Reading

Preprocessing = Annotated[
    str,
    typer.Option(
        "--preprocess", help="Of a model; a bundle knows its own. As in `compile --preprocess`."
    ),
]
LabelOrder = Annotated[str, typer.Option(help="Order of a model's classes: numeric or string.")]
ClassNames = Annotated[
    str,
    typer.Option(
        "--classes", help="Names of a model's classes in its order, as in `compile --classes`."
    ),
]


NoExamples = Annotated[
    bool,
    typer.Option(
        "--no-examples",
        help="Name and show no rows: for data that must not leave the machine. Else the page shows "
        "up to 24 wrong answers, in at most 64 pixels a side.",
    ),
]


def reading_of(preprocess: str, label_order: str, classes: str) -> Reading:
    """What these options say. Raises EdgemonError."""
    from edgemon.compiler.data.classes import parse_names
    from edgemon.compiler.trust.judge import Reading
    from edgemon.runtime.preprocess import Preprocess

    return Reading(Preprocess.parse(preprocess), label_order, parse_names(classes))
