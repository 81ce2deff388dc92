"""Notebooks as pages, by nbconvert."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter

TIMEOUT_S = 120  # of a cell


def page(path: Path, *, execute: bool) -> tuple[str, dict[str, bytes]]:
    """A notebook as Markdown, and its pictures by name. ``execute``: with what its cells print."""
    notebook = nbformat.read(path, as_version=4)
    if execute:
        from nbclient import NotebookClient

        NotebookClient(
            notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": path.parent}}
        ).execute()
    resources = {"output_files_dir": f"{path.stem}_files", "unique_key": path.stem}
    text, found = MarkdownExporter().from_notebook_node(notebook, resources=resources)
    text = re.sub(r"<style scoped>.*?</style>", "", text, flags=re.S)
    note = f"*This page is a notebook of the repository: `docs/notebooks/{path.name}`.*"
    title, _, rest = text.lstrip().partition("\n")
    return f"{title}\n\n{note}\n{rest}", dict(found["outputs"])
