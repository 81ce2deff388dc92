"""The description of a benchmark: ``compare``'s cases with a fixed split, and faults.

name = "..."
rows = 500                    # of a set: so many of the data, and so many with its fault
seed = 0
[faults]                      # by name, see ``faults.registry``; severities, or "all"
fog = [1, 3, 5]
rotation = "all"
fgsm = [2]                    # an attack
[[case]]                      # or [defaults]: all keys of ``compare.spec``, and
gradient = "model.h5"         # a Keras model of the same task, whose gradient attacks take
gradient_preprocess = ""      # its own
faulty = ["corrupt.npz"]      # labelled rows that have a fault as they are, of kind anomaly
full_scale = 255              # the value of white in these images
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgemon.bench.compare.spec import Case, Spec
from edgemon.bench.description import read_description
from edgemon.bench.errors import BenchError
from edgemon.compiler.errors import FaultError
from edgemon.compiler.faults import attacks, registry
from edgemon.runtime.preprocess import Preprocess

ROWS, FEWEST_ROWS, MOST_ROWS = 500, 20, 100_000
KEYS = ("name", "rows", "seed", "faults", "defaults", "case")
ALL = "all"


@dataclass(frozen=True)
class FarmCase(Case):
    """One ``[[case]]``."""

    resplits: int = 0
    gradient: str = ""
    gradient_preprocess: str = ""
    faulty: tuple[str, ...] = ()
    full_scale: int = registry.FULL_SCALE


@dataclass(frozen=True)
class Wanted:
    """A fault, or an attack, at one severity."""

    fault: str
    severity: int

    @property
    def is_attack(self) -> bool:
        return self.fault in attacks.SEVERITIES

    @property
    def kind(self) -> str:
        """One of ``registry.KINDS``."""
        return registry.ADVERSARIAL if self.is_attack else registry.find(self.fault).kind


@dataclass(frozen=True)
class FarmSpec:
    """The whole file."""

    name: str
    root: Path
    cases: tuple[FarmCase, ...]
    wanted: tuple[Wanted, ...]
    rows: int
    seed: int
    sha256: str  # of the file

    @classmethod
    def read(cls, path: Path, root: Path | None = None) -> FarmSpec:
        """Raises BenchError that names the key that is missing or wrong."""
        content, _ = read_description(path, root)
        for key in content:
            if key not in KEYS:
                raise BenchError(f"{path}: unknown key {key!r}; there are {', '.join(KEYS)}")
        spec = Spec.read(path, root, FarmCase)
        cases = tuple(c for c in spec.cases if isinstance(c, FarmCase))
        for case in cases:
            if not case.has_fixed_split:
                raise BenchError(
                    f"{path}: [[case]] {case.name!r}: give calibrate and test, not pool: the rows "
                    "of a benchmark are used nowhere else"
                )
            if case.references:
                raise BenchError(
                    f"{path}: [[case]] {case.name!r}: references go with `edgemon compare`; a "
                    "benchmark compiles monitors: leave them out"
                )
            if not 1 <= case.full_scale <= registry.FULL_SCALE:
                raise BenchError(f"{path}: [[case]] {case.name!r}: full_scale is from 1 to 255")
            Preprocess.parse(case.gradient_preprocess)
        wanted = tuple(_wanted(path, content.get("faults", {})))
        if not wanted and not any(c.novel or c.unknown_labels for c in cases):
            raise BenchError(f"{path}: names no fault, in [faults], and no novel rows")
        return cls(
            spec.name, spec.root, cases, wanted,
            _number(path, content, "rows", ROWS, (FEWEST_ROWS, MOST_ROWS)),
            _number(path, content, "seed", 0, (0, 2**32 - 1)),
            hashlib.sha256(path.read_bytes()).hexdigest(),
        )  # fmt: skip


def _number(
    path: Path, content: Mapping[str, Any], key: str, default: int, limits: tuple[int, int]
) -> int:
    value = content.get(key, default)
    low, high = limits
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise BenchError(f"{path}: {key} is {value!r}, not a whole number from {low} to {high}")
    return value


def _wanted(path: Path, table: Any) -> list[Wanted]:
    if not isinstance(table, dict):
        raise BenchError(f"{path}: faults must be a table, [faults]")
    found: dict[Wanted, None] = {}
    for name, given in table.items():
        most = attacks.SEVERITIES.get(name)
        if most is None:
            try:
                fault = registry.find(name)
            except FaultError as error:
                more = f", and the attacks {', '.join(attacks.SEVERITIES)}"
                raise BenchError(f"{path}: [faults]: {error}{more}") from None
            most, name = fault.severities, fault.name
        listed = given if isinstance(given, list) else [given]
        severities = list(range(1, most + 1)) if given == ALL else listed
        good = bool(severities) and all(
            isinstance(s, int) and not isinstance(s, bool) and 1 <= s <= most for s in severities
        )
        if not good:
            raise BenchError(
                f"{path}: [faults] {name} is {given!r}, not severities from 1 to {most}, or {ALL!r}"
            )
        found.update(dict.fromkeys(Wanted(name, s) for s in severities))
    return list(found)
