"""Files that a command writes beside its bundle."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from edgemon.compiler.errors import CompileError


def write_beside(path: Path, write: Callable[[Path], object], option: str) -> None:
    """Write a file beside its place and then rename it: never half a file. Raises CompileError."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}")
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            temporary.chmod(0o644)
            temporary.replace(path)
        except BaseException:
            temporary.unlink()
            raise
    except OSError as error:
        raise CompileError(f"{option} {path}: cannot be written: {error.strerror}") from None
