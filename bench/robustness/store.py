"""Answers that are kept in a folder, so that a run that was stopped goes on where it was."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.trust.judge import Answered, Judge

ENDING = ".npz"


class Store:
    """Without a folder nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)

    def answers(self, judge: Judge, rows: Dataset, what: str) -> Answered:
        """Of these rows, or as they were answered before. ``what``: for people who look there."""
        if self._folder is None:
            return judge.answer(rows)
        own = hashlib.blake2b(judge.key.encode(), digest_size=16)
        for digest in rows.fingerprints():
            own.update(digest)
        path = self._folder / f"{own.hexdigest()} {what}{ENDING}"
        kept = _read(path)
        if kept is not None and len(kept.predicted) == len(rows):
            return kept
        found = judge.answer(rows)
        arrays: dict[str, Any] = {k: v for k, v in vars(found).items() if v is not None}
        with tempfile.NamedTemporaryFile(dir=self._folder, suffix=".tmp", delete=False) as file:
            np.savez(file, **arrays)
        Path(file.name).replace(path)
        return found


def _read(path: Path) -> Answered | None:
    """None where there is nothing, or what was cut off while it was written."""
    try:
        with np.load(path, allow_pickle=False) as kept:
            found = dict(kept)
        return Answered(found["p"], found["predicted"], found.get("passed"))
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
        return None
