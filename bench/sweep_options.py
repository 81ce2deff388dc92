"""Options that all sweeps share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Scheduler = Annotated[
    str, typer.Option(help="local, or the address of a Dask scheduler, as tcp://host:8786.")
]
Jobs = Annotated[
    int, typer.Option(min=1, help="Steps at the same time, each in a process of this machine.")
]
Store = Annotated[
    Path | None,
    typer.Option(help="Folder of what is done, by content, from which a later run resumes."),
]
