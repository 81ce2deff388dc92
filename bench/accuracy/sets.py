"""The user's rows of a case: clean, with faults, attacked, and from elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.accuracy.spec import Case, UserSet
from edgemon.bench.accuracy.surrogate import Surrogate
from edgemon.bench.errors import BenchError
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import load
from edgemon.compiler.faults import attacks
from edgemon.compiler.faults.registry import make
from edgemon.compiler.reporter import Reporter

Array = npt.NDArray[Any]
Images = npt.NDArray[np.uint8]
Labels = npt.NDArray[np.int64]

CLEAN = "clean"
BLOCK = 512  # images attacked at a time


@dataclass(frozen=True, eq=False)
class Rows:
    """Images and labels with a name; ``left_out``: rows whose label the model lacks."""

    name: str
    x: Array
    y: Labels
    left_out: int = 0

    def saved(self, folder: Path) -> str:
        """A specification of them in a new folder."""
        folder.mkdir()
        np.save(folder / "x.npy", self.x)
        np.save(folder / "y.npy", self.y)
        return f"{folder / 'x.npy'},{folder / 'y.npy'}"


def user_sets(
    case: Case, root: Path, scratch: Path, seed: int, reporter: Reporter
) -> Iterator[Rows]:
    """All of a case, the clean one first."""
    x, y = _read(str(root / case.rows), scratch, reporter)
    yield Rows(CLEAN, x, y)
    for name, severity in case.faults:
        with reporter.stage(f"making {name} {severity}"):
            changed = make(x, name, severity, seed=seed, rows=range(len(x)))
        yield Rows(f"{name} {severity}", changed, y)
    if case.attack:
        if not case.surrogate:
            raise BenchError(f"case {case.name!r}: an attack needs rows for a surrogate")
        with reporter.stage("training a surrogate"):
            own = Surrogate(*_read(str(root / case.surrogate), scratch, reporter), seed)
        with reporter.stage("attacking"):
            yield Rows(
                f"FGSM {attacks.REACH[case.attack - 1]:.0f}/255",
                _attacked(own, x, y, case.attack),
                y,
            )
    for given in case.sets:
        yield _other(given, root, scratch, reporter)


def _attacked(surrogate: Surrogate, x: Images, y: Labels, severity: int) -> Images:
    positions = np.searchsorted(surrogate.classes, y)
    found = np.empty_like(x)
    for start in range(0, len(x), BLOCK):
        block = slice(start, start + BLOCK)
        moved = attacks.fgsm(surrogate, x[block].astype(np.float64), positions[block], severity)
        found[block] = np.rint(moved)
    return found


def _other(given: UserSet, root: Path, scratch: Path, reporter: Reporter) -> Rows:
    x, y = _read(str(root / given.data), scratch, reporter)
    if not given.relabel:
        return Rows(given.name, x, y)
    known = np.isin(y, list(given.relabel))
    labels = np.array([given.relabel[v] for v in y[known].tolist()], np.int64)
    return Rows(given.name, x[known], labels, int((~known).sum()))


def _read(spec: str, scratch: Path, reporter: Reporter) -> tuple[Images, Labels]:
    found = load(spec, scratch, pictures=Pictures(), warn=reporter.warn)
    if found.y is None:
        raise BenchError(f"{spec}: has no labels")
    (images,) = found.blocks(len(found))
    return images, found.y
