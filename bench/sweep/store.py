"""The folder of what steps gave."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgemon.bench.errors import BenchError
from edgemon.bench.sweep.engine import LOCAL, Engine


@contextmanager
def stored(engine: Engine, given: Path | None) -> Iterator[tuple[Engine, Path | None]]:
    """The engine, when it can run, and its store: the given folder, which is made, or one that
    goes with the run where only other processes of this machine need it. Raises BenchError."""
    engine.require()
    if given is not None:
        try:
            given.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BenchError(f"--store {given}: cannot write there: {error.strerror}") from None
        yield engine, given
        return
    if engine.scheduler != LOCAL:
        raise BenchError("--scheduler ADDRESS needs --store FOLDER, one that all workers see")
    if not engine.elsewhere:
        yield engine, None
        return
    with tempfile.TemporaryDirectory(prefix="edgemon-") as folder:
        yield engine, Path(folder)
