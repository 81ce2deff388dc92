"""Options about budgets that ``bench`` and ``target check`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Budgets = Annotated[
    Path | None,
    typer.Option(
        "--budgets",
        metavar="FILE.toml",
        help="Limits by target and monitor: docs/budgets.md. Exit code 3 for one that is missed, 8 "
        "for one that could not be measured.",
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option("--junit", metavar="FILE.xml", help="Write a JUnit test case for each budget."),
]
Annotations = Annotated[
    Path | None,
    typer.Option(
        "--annotations", metavar="FILE",
        help="Write a GitHub workflow command for each budget that is not met.",
    ),
]  # fmt: skip
