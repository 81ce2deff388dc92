"""What a benchmark leaves in its folder."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from edgemon.bench.errors import BenchError
from edgemon.bench.farm.figures import write_diagram
from edgemon.bench.farm.page import render
from edgemon.bench.farm.publish import publish as add_to
from edgemon.bench.farm.ranking import HEADLINE, find
from edgemon.bench.farm.show import markdown

Document = dict[str, Any]


def prepare(out: Path) -> None:
    """Makes the folder, before anything is measured. Raises BenchError if it cannot be."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BenchError(f"--out {out}: cannot be made: {error.strerror}") from None


def save(out: Path, document: Document, measured: Sequence[Document], publish: Path | None) -> None:
    """``farm.json``, which is the same in every run; ``costs.json``, which is not; ``farm.md``,
    ``index.html``, and ``cd.svg`` where there are ranks."""
    page = render(document, measured)
    texts = {
        "farm.json": json.dumps(document, indent=1, allow_nan=False) + "\n",
        "costs.json": json.dumps(list(measured), indent=1, allow_nan=False) + "\n",
        "farm.md": markdown(document, measured),
        "index.html": page,
    }
    for name, text in texts.items():
        (out / name).write_text(text, encoding="utf-8")
    found = find(document["statistics"]["rankings"], *HEADLINE)
    if found:
        write_diagram(found, out / "cd.svg")
    if publish is not None:
        add_to(publish, document, page)
