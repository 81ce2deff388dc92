"""Files that describe what a benchmark runs: TOML, with paths relative to a root folder."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from edgemon.bench.errors import BenchError


def read_description(path: Path, root: Path | None) -> tuple[dict[str, Any], Path]:
    """The content and the root, by default the file's own folder. Raises BenchError."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise BenchError(f"{path}: cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BenchError(f"{path}: is no TOML: {error}") from None
    folder = path.parent if root is None else root
    if not folder.is_dir():
        raise BenchError(f"--root {folder}: is no folder")
    return content, folder
