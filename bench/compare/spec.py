"""The description of a comparison: a TOML file with paths relative to a root folder.

[defaults]                    # keys that every case has unless it gives its own
[[case]]
name = "resnet8"              # or a list of names: one case each, {name} in paths stands for it
float_model = "float.tflite"  # of an integer model: whose gradient the monitor odin takes
group = "cifar10"             # cases that are averaged together
model = "models/resnet8.tflite"
fit = "train.npz"             # data as ``edgemon compile`` takes it, or a folder of x.csv, y.csv
rows_group = "track[0]"       # of the fit rows, as ``edgemon compile --group`` takes it
calibrate = "test.npz[0:5000]"    # a fixed split; resplits draw anew from both together
test = "test.npz[5000:10000]"
pool = "test.npz"             # or instead of these: rows for resplits only
resplits = 20
preprocess = "scale=1/255"    # as ``edgemon compile`` takes it, like the next one
label_order = "numeric"
classes = ["cat", "dog"]      # the model's, in its order, where labels are words
unknown_labels = "novel"      # rows whose label no class has: novel (default: an error)
novel = ["other.npz"]         # rows of no class that the model knows
monitors = ["msp_t", "forest:trees=1", "errors"]    # each as ``--monitor`` takes it
augment = 1                   # as ``edgemon compile`` takes it
references = ["knn", "vim"]   # beside them, without limits of bytes and time: ``references``
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from edgemon.bench.compare.references import NAMES, REFERENCES, TOGETHER
from edgemon.bench.description import read_description
from edgemon.bench.errors import BenchError
from edgemon.compiler.float_model import takes_float_model
from edgemon.compiler.monitors import parse
from edgemon.compiler.options import MOST_COPIES
from edgemon.runtime.preprocess import Preprocess
from edgemon.targets.nearest import choices

NOVEL = "novel"


@dataclass(frozen=True)
class Case:
    """One ``[[case]]``."""

    name: str
    model: str
    fit: str
    monitors: tuple[str, ...]
    pool: str = ""
    calibrate: str = ""
    test: str = ""
    resplits: int = 20
    preprocess: str = ""
    label_order: str = "numeric"
    classes: tuple[str, ...] = ()
    unknown_labels: str = ""
    novel: tuple[str, ...] = ()
    group: str = ""
    rows_group: str = ""
    augment: int | None = None
    float_model: str = ""
    references: tuple[str, ...] = ()
    companion: str = ""  # a model beside it, as `compile --companion`

    @property
    def has_fixed_split(self) -> bool:
        return not self.pool


@dataclass(frozen=True)
class Spec:
    """The whole file."""

    name: str
    root: Path
    cases: tuple[Case, ...]

    @classmethod
    def read(cls, path: Path, root: Path | None = None, kind: type[Case] = Case) -> Spec:
        """Raises BenchError that names the key that is missing or wrong. ``root`` defaults to the
        file's folder; ``kind`` is what a case is, with the keys of its fields."""
        content, folder = read_description(path, root)
        tables, defaults = content.get("case", []), content.get("defaults", {})
        if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
            raise BenchError(f"{path}: case must be tables, [[case]]")
        if not isinstance(defaults, dict):
            raise BenchError(f"{path}: defaults must be a table, [defaults]")
        cases = tuple(
            c for t in tables for c in _cases(f"{path}: [[case]]", {**defaults, **t}, kind)
        )
        if not cases:
            raise BenchError(f"{path}: describes no [[case]]")
        names = [c.name for c in cases]
        twice = [n for n in names if names.count(n) > 1]
        if twice:
            raise BenchError(f"{path}: two cases are called {twice[0]!r}")
        return cls(str(content.get("name", path.stem)), folder, cases)

    def only(self, names: list[str]) -> Spec:
        """The cases of these names or groups; all if there are no names."""
        known = {c.name for c in self.cases} | {c.group for c in self.cases if c.group}
        for name in names:
            if name not in known:
                raise BenchError(f"--cases: unknown case {name!r}{choices(name, sorted(known))}")
        chosen = (c for c in self.cases if not names or {c.name, c.group} & set(names))
        return replace(self, cases=tuple(chosen))


def _cases(where: str, table: Mapping[str, Any], kind: type[Case]) -> Iterator[Case]:
    """A case for each of its names."""
    names = table.get("name")
    for name in names if isinstance(names, list) else [names]:
        if not isinstance(name, str) or not name:
            raise BenchError(f"{where}: lacks a name, a text or a list of texts")
        filled = {
            k: v.replace("{name}", name) if isinstance(v, str) else v for k, v in table.items()
        }
        yield _case(f"{where} {name!r}", {**filled, "name": name}, kind)


def _case(where: str, table: Mapping[str, Any], kind: type[Case]) -> Case:
    known = {f.name: str(f.type) for f in fields(kind)}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise BenchError(f"{where}: unknown key {key!r}{choices(key, known)}")
        if known[key].startswith("tuple"):
            good = isinstance(value, list) and all(isinstance(v, str) for v in value)
            wanted = "a list of texts"
        elif known[key].startswith("int"):
            good = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1000
            wanted = "a whole number from 0 to 1000"
        else:
            good, wanted = isinstance(value, str), "a text"
        if not good:
            raise BenchError(f"{where}: {key} is {value!r}, not {wanted}")
        values[key] = tuple(value) if isinstance(value, list) else value
    missing = [k for k in ("model", "fit", "monitors") if not values.get(k)]
    if missing:
        raise BenchError(f"{where}: lacks {missing[0]}")
    case = kind(**values)
    fixed = (bool(case.calibrate), bool(case.test))
    if fixed != (case.has_fixed_split,) * 2:
        raise BenchError(f"{where}: give either pool, or calibrate and test")
    if case.pool and not case.resplits:
        raise BenchError(f"{where}: a pool needs at least one of resplits")
    if case.unknown_labels not in ("", NOVEL):
        raise BenchError(f"{where}: unknown_labels {case.unknown_labels!r}; there is {NOVEL}")
    if len(set(case.monitors)) != len(case.monitors):
        raise BenchError(f"{where}: names a monitor twice")
    for text in case.monitors:  # before anything is run
        if len(parse(text)) != 1:
            raise BenchError(f"{where}: monitors: write each monitor as a text of its own")
    if case.float_model and not any(takes_float_model(parse(text)) for text in case.monitors):
        raise BenchError(f"{where}: float_model goes with the monitor odin, which is not there")
    if len(set(case.references)) != len(case.references):
        raise BenchError(f"{where}: names a reference twice")
    for name in case.references:
        if name not in NAMES:
            raise BenchError(f"{where}: unknown reference {name!r}{choices(name, NAMES)}")
    if case.references == (TOGETHER,):
        raise BenchError(
            f"{where}: the reference {TOGETHER} weighs others: name some of {', '.join(REFERENCES)}"
        )
    if (case.augment or 0) > MOST_COPIES:
        raise BenchError(f"{where}: augment {case.augment}; up to {MOST_COPIES} copies are made")
    Preprocess.parse(case.preprocess)
    return case
