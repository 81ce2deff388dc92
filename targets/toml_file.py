"""TOML files that people write."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any


def read_toml(path: Path, where: str, error: type[Exception]) -> dict[str, Any]:
    """The content. Raises ``error`` with one sentence, which begins with ``where``."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as cause:
        raise error(f"{where}: cannot be read: {cause.strerror}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as cause:
        raise error(f"{where}: is not TOML: {cause}") from None
