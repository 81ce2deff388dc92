"""Notebooks as pages: text as it is, code, and what cells print and show."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path
from typing import Any

import nbformat

TIMEOUT_S = 600  # of a cell
FRAME = re.compile(r'<iframe srcdoc="([^"]*)"', re.S)  # a bundle's report


def page(path: Path, *, execute: bool) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and the files beside it by name. ``execute``: with what its cells
    print."""
    notebook: Any = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    if execute:
        from nbclient import NotebookClient

        where = {"metadata": {"path": path.parent}}
        NotebookClient(notebook, timeout=TIMEOUT_S, resources=where).execute()
    files: dict[str, bytes] = {}
    parts = [part for cell in notebook.cells for part in _cell(cell, path.stem, files)]
    title, _, rest = parts[0].partition("\n")
    note = f"*This page is a notebook of the repository: `docs/notebooks/{path.name}`.*"
    return "\n\n".join([title, note, rest.strip(), *parts[1:]]) + "\n", files


def _cell(cell: Any, stem: str, files: dict[str, bytes]) -> list[str]:
    if cell.cell_type == "markdown":
        return [cell.source]
    parts = [f"```python\n{cell.source}\n```"]
    for output in cell.get("outputs", ()):
        part = _output(output, stem, files)
        if part:
            parts.append(part)
    return parts


def _output(output: Any, stem: str, files: dict[str, bytes]) -> str:
    """What a cell printed (standard error is left out), or showed."""
    if output.output_type == "stream":
        return _printed(output.text) if output.name == "stdout" else ""
    shown = output.get("data", {})
    name = f"{stem}_files/{len(files)}"
    if "image/png" in shown:
        files[f"{name}.png"] = base64.b64decode(shown["image/png"])
        return f"![what the cell shows]({name}.png)"
    if "text/html" in shown:
        framed = FRAME.search(shown["text/html"])
        if framed is None:
            return _table(shown["text/html"])
        files[f"{name}.html"] = html.unescape(framed[1]).encode()
        return f'<iframe src="{name}.html" class="report" title="the report"></iframe>'
    return _printed(shown.get("text/plain", ""))


def _printed(text: str) -> str:
    return f"``` {{.text .printed}}\n{text.strip()}\n```" if text.strip() else ""


def _table(text: str) -> str:
    """A table of pandas, without its style, and without what Markdown takes for code."""
    bare = re.sub(r"<style scoped>.*?</style>", "", text, flags=re.S)
    lines = (line.strip() for line in bare.splitlines())
    return '<div class="scrolled">' + "".join(line for line in lines) + "</div>"
