"""Files that describe what a benchmark runs: TOML, with paths relative to a root folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgemon.bench.errors import BenchError
from edgemon.targets.toml_file import read_toml


def read_description(path: Path, root: Path | None) -> tuple[dict[str, Any], Path]:
    """The content and the root, by default the file's own folder. Raises BenchError."""
    content = read_toml(path, str(path), BenchError)
    folder = path.parent if root is None else root
    if not folder.is_dir():
        raise BenchError(f"--root {folder}: is not a folder")
    return content, folder
