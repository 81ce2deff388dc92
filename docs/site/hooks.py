"""What MkDocs does not find in docs/: pages that are made of the sources, and links to sources.

Nothing that is made here is kept in the repository: ``make docs`` and a test make it anew.
"""

from __future__ import annotations

import os
import posixpath
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
import c_reference
import cli_reference
import notebooks
import python_reference

ROOT = Path(__file__).resolve().parents[2]
EXECUTE = "EDGEMON_EXECUTE_NOTEBOOKS"  # 1: execute them, and show what they print
HEADER = ROOT / "runtime" / "c" / "include" / "edgemon" / "edgemon.h"
MOVED = {  # files of the repository that are pages of the site
    "runtime/FORMAT.md": "reference/format.md",
    "runtime/c/include/edgemon/edgemon.h": "reference/c.md",
    "runtime/examples/pipeline/README.md": "integration/pipeline.md",
    "README.md": "project/readme.md",
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "LICENSE": "project/license.md",
}
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".py": "python"}
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages that are made."""
    made = {
        "reference/cli.md": cli_reference.page(),
        "reference/c.md": c_reference.page(HEADER.read_text(encoding="utf-8")),
        "reference/python.md": python_reference.PAGE,
        "project/license.md": f"# License\n\n```text\n{_text('LICENSE')}\n```\n",
    }
    for path, uri in MOVED.items():
        if path.endswith(".md") and uri not in made:
            made[uri] = relinked(_text(path), path, uri)
    for notebook in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        page, beside = notebooks.page(notebook, execute=os.environ.get(EXECUTE) == "1")
        made[f"notebooks/{notebook.stem}.md"] = page
        for name, picture in beside.items():
            files.append(File.generated(config, f"notebooks/{name}", content=picture))
    sources = set()
    for file in files.documentation_pages():
        path = f"docs/{file.src_uri}"
        sources |= {s for s in _targets(file.content_string, path) if _is_source(s)}
    for path in MOVED:
        if path.endswith(".md"):
            sources |= {s for s in _targets(_text(path), path) if _is_source(s)}
    for path in sources:
        made[f"source/{path}.md"] = _source(path)
    for uri, content in made.items():
        file = File.generated(config, uri, content=content)
        if uri.startswith("source/"):
            file.inclusion = file.inclusion.NOT_IN_NAV
        files.append(file)
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001
    """Links that leave docs/ lead to the pages of those files."""
    uri = page.file.src_uri
    made = page.file.generated_by is not None
    return markdown if made else relinked(markdown, f"docs/{uri}", uri)


def relinked(markdown: str, path: str, uri: str) -> str:
    """The text of the file ``path`` (from the repository's root) with links as of the page."""

    def replaced(found: re.Match[str]) -> str:
        start, target, anchor = found[1], found[2], found[3] or ""
        whole = _whole(target, path)
        page = _page(whole)
        if page is None:
            return found[0]
        return f"{start}{posixpath.relpath(page, posixpath.dirname(uri) or '.')}{anchor})"

    return LINK.sub(replaced, markdown)


def _page(whole: str | None) -> str | None:
    """The page of a file, from docs/; None for what is no file of the repository."""
    if whole is None:
        return None
    if whole in MOVED:
        return MOVED[whole]
    if whole.startswith("docs/"):
        return re.sub(r"\.ipynb$", ".md", whole.removeprefix("docs/"))
    return f"source/{whole}.md" if _is_source(whole) else None


def _whole(target: str, path: str) -> str | None:
    """A link's file, from the repository's root."""
    if "://" in target or target.startswith(("mailto:", "/")):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), target))


def _targets(markdown: str, path: str) -> set[str]:
    found = (_whole(m[2], path) for m in LINK.finditer(markdown))
    return {whole for whole in found if whole is not None}


def _source(path: str) -> str:
    """The page of a source file, or of the files in a folder."""
    whole = ROOT / path
    if whole.is_dir():
        parts = [p.relative_to(ROOT).as_posix() for p in sorted(whole.rglob("*")) if p.is_file()]
        return f"# {path}\n\n" + "\n".join(f"## {p}\n\n{_fenced(p)}" for p in parts)
    return f"# {path}\n\n{_fenced(path)}"


def _fenced(path: str) -> str:
    return f"````{LANGUAGES.get(Path(path).suffix, 'text')}\n{_text(path)}\n````\n"


def _is_source(whole: str) -> bool:
    return not whole.startswith(("docs/", "../")) and whole not in MOVED and (ROOT / whole).exists()


def _text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
