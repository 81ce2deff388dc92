"""Notebooks as pages, by nbconvert."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
from nbconvert import MarkdownExporter

TIMEOUT_S = 600  # of a cell
PRINTED = re.compile(r"(?:^ {4}.*\n(?:\s*\n)*)+", re.M)


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
    text = _outputs(re.sub(r"<style scoped>.*?</style>", "", text, flags=re.S))
    note = f"*This page is a notebook of the repository: `docs/notebooks/{path.name}`.*"
    title, _, rest = text.lstrip().partition("\n")
    return f"{title}\n\n{note}\n{rest}", dict(found["outputs"])


def _outputs(text: str) -> str:
    """What cells print, which nbconvert indents, as blocks of their own whose lines may wrap."""
    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    return "".join(p if p.startswith("```") else PRINTED.sub(_fenced, p) for p in parts)


def _fenced(found: re.Match[str]) -> str:
    lines = [line.removeprefix("    ").rstrip() for line in found[0].strip("\n").splitlines()]
    kept = [line for line in lines if line]
    return "\n``` {.text .printed}\n" + "\n".join(kept) + "\n```\n"
