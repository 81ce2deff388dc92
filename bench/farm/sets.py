"""The benchmark sets of a case: n rows of its data, and n rows of one fault.

Both halves are drawn from the test rows, and no row is in both; the first half serves all sets, the
second is what faults are made of. Novel rows replace the second half.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare.rows import CaseRows
from edgemon.bench.errors import BenchError
from edgemon.bench.farm.spec import FarmCase, Wanted
from edgemon.compiler.data.classes import to_classes
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.errors import FaultError
from edgemon.compiler.faults import registry
from edgemon.compiler.faults.attacks import NotAvailableError, Target, attacked
from edgemon.compiler.faults.image import Bytes
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.preprocess import Preprocess

FEWEST = 20  # rows of a half
ANOMALY = "anomaly"
Indices = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FaultRows:
    """The second half of one set. ``severity`` is 0 of rows that are as they were
    found; ``data`` has no labels if they are novel.
    ``unchanged``: rows that the fault left as they were."""

    fault: str
    kind: str
    severity: int
    data: Dataset
    sha256: str
    unchanged: int

    @property
    def is_novel(self) -> bool:
        return self.kind == registry.NOVELTY

    def to_json(self) -> dict[str, Any]:
        return {
            "fault": self.fault, "kind": self.kind, "severity": self.severity,
            "rows": len(self.data), "sha256": self.sha256, "unchanged": self.unchanged,
        }  # fmt: skip


class CaseSets:
    """Makes the sets of one case. ``clean`` are the rows that serve all of them, ``base`` those of
    which faults are made, as they were."""

    def __init__(
        self, case: FarmCase, data: CaseRows, rows: int, seed: int, root: Path, scratch: Path,
        labels: Indices, reporter: Reporter,
    ) -> None:  # fmt: skip
        self._case, self._seed, self._root = case, seed, root
        self.scratch, self._labels = scratch, labels
        test = data.pool[-1]
        count = min(rows, len(test) // 2)
        if count < FEWEST:
            raise BenchError(
                f"case {case.name!r}: {len(test)} test rows make sets of {count} and {count}; "
                f"give at least {2 * FEWEST}"
            )
        if count < rows:
            reporter.warn(
                f"case {case.name!r}: sets have {count} rows of each sort instead of {rows}: "
                f"there are {len(test)} test rows"
            )
        order = np.random.default_rng(seed).permutation(len(test))
        self.clean = test.take(np.sort(order[:count]))
        self.base = test.take(np.sort(order[count : 2 * count]))
        self._novel = data.novel
        self.count = count
        (images,) = self.base.blocks(count)
        self._images = images
        if images.dtype == np.uint8 and images.ndim in (3, 4):
            registry.warn_of_scale(images, case.full_scale, "full_scale", reporter.warn)

    def novel(self, name: str) -> FaultRows:
        """A set of novel rows; as many as there are, where these are fewer."""
        return self._drawn(name, registry.NOVELTY, self._novel[name])

    def faulty(self, name: str, data: Dataset) -> FaultRows:
        """A set of rows that have a fault as they are; as many as there are."""
        return self._drawn(name, ANOMALY, data)

    def _drawn(self, name: str, kind: str, data: Dataset) -> FaultRows:
        order = np.random.default_rng(self._seed).permutation(len(data))
        chosen = data.take(np.sort(order[: self.count]))
        (images,) = chosen.blocks(len(chosen))
        return FaultRows(name, kind, 0, chosen, registry.digest(np.asarray(images)), 0)

    def make(self, wanted: Wanted) -> FaultRows:
        """Raises NotAvailableError, with the reason, where this fault cannot be made here."""
        made = self._attacked(wanted) if wanted.is_attack else self._changed(wanted)
        folder = Path(tempfile.mkdtemp(dir=self.scratch))
        np.save(folder / "x.npy", made)
        data = load(str(folder / "x.npy"), self.scratch)
        same = (made == self._images).reshape(len(made), -1).all(axis=1)
        return FaultRows(
            wanted.fault, wanted.kind, wanted.severity,
            Dataset(data.x, data.rows, self.base.y, None, f"{wanted.fault} {wanted.severity}"),
            registry.digest(made), int(same.sum()),
        )  # fmt: skip

    def _changed(self, wanted: Wanted) -> Bytes:
        try:
            (frame,) = self.clean.take([0]).blocks(1)
            return registry.make(
                self._images, wanted.fault, wanted.severity, seed=self._seed,
                rows=self.base.numbers.tolist(), full_scale=self._case.full_scale,
                frame=frame[0],
            )  # fmt: skip
        except FaultError as error:
            raise NotAvailableError(str(error)) from None

    def _attacked(self, wanted: Wanted) -> Bytes:
        case = self._case
        if not case.gradient:
            raise NotAvailableError(
                f"{wanted.fault}: the case names no model with a gradient (gradient = ...)"
            )
        if case.full_scale != registry.FULL_SCALE:
            raise NotAvailableError(f"{wanted.fault}: attacks are for images up to 255")
        if self.base.y is None:
            raise NotAvailableError(f"{wanted.fault}: the rows have no labels")
        target = Target(self._root / case.gradient, Preprocess.parse(case.gradient_preprocess))
        return attacked(
            target, wanted.fault, wanted.severity, self._images,
            to_classes(self.base.y, self._labels), seed=self._seed,
            rows=self.base.numbers.tolist(),
        )  # fmt: skip
