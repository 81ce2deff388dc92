"""The key of a step: a hash of what it reads."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path


def key(of: object, paths: Iterable[Path]) -> str:
    """Of this version, of ``of`` by what it prints, and of the content of files and folders."""
    whole = hashlib.sha256(repr((version("edgemon"), of)).encode())
    for path in paths:
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            if file.is_file():
                about = file.stat()
                whole.update(_digest(file, about.st_size, about.st_mtime_ns))
    return whole.hexdigest()


@lru_cache(maxsize=4096)
def _digest(file: Path, _size: int, _changed_ns: int) -> bytes:
    """Many steps read the same file."""
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").digest()
