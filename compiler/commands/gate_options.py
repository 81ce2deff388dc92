"""Options of the gates, which ``compile`` and ``verify`` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Require = Annotated[
    str,
    typer.Option(
        metavar="FIGURE>=X,...",
        help="Exit code 3 unless all hold, as caught>=0.4,false_alarms<=0.05,kb<=16. Figures: "
        "caught, false_alarms, precision, mcc, auroc, accuracy, kb, us (docs/budgets.md).",
    ),
]
Baseline = Annotated[
    Path | None,
    typer.Option(
        metavar="OLD_BUNDLE",
        help="Exit code 3 if the model's accuracy or the alarms' MCC is clearly lower than that "
        "bundle's on the same rows.",
    ),
]
Junit = Annotated[
    Path | None,
    typer.Option(
        "--junit", metavar="FILE.xml",
        help="Write a JUnit test case for the command and for each requirement.",
    ),
]  # fmt: skip
