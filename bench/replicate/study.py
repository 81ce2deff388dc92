"""The description of a study: a TOML file with paths relative to a root folder.

name = "..."
[printed]                     # CSV files with the numbers to compare with; each is optional
table5 = "table5_prophecy.csv"
[[dataset]]
name = "PD"
models = ["PD1", "PD2"]
model_file = "models/{model}.tflite"      # or .h5; stacks of dense layers
x = "splits/{split}/x.csv"                # train, val, test: one file each,
y = "splits/{split}/y.csv"
source = "pima.csv"                       # or one table, split 80/10/10 by ``seed``
label = "Outcome"                         # its label column
features = ["Glucose", "Age"]             # its other columns (default: all)
scale = "minmax"                          # each column to 0 ... 1 (default: as it is)
seed = 10
unseen = "unseen.csv"                     # rows of the replication of DeepInfer, Table 3
unseen_y = "unseen_y.csv"                 # their labels (default: the last column of unseen)
preconditions = "analysis.json"           # the published ones, for the form as published
unseen_preconditions = "analysis.json"
[[outputs]]                   # a model of which only the tools' own outputs are known
name = "CIFAR10"
classes = 10
layer_classes = "CIFAR10.npz"             # valid, test: layers' classes, prediction, label
prophecy = "notifications.csv"
deepinfer = "notifications.csv"
table = "table4"              # its place, if it is in none of tables 5, 7 and 8
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from edgemon.bench.description import read_description
from edgemon.bench.errors import BenchError

SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class DatasetEntry:
    """One ``[[dataset]]``."""

    name: str
    models: tuple[str, ...]
    model_file: str
    x: str = ""
    y: str = ""
    source: str = ""
    label: str = ""
    features: tuple[str, ...] = ()
    scale: str = ""
    seed: int = 0
    unseen: str = ""
    unseen_y: str = ""
    preconditions: str = ""
    unseen_preconditions: str = ""


@dataclass(frozen=True)
class OutputsEntry:
    """One ``[[outputs]]``."""

    name: str
    classes: int
    layer_classes: str
    prophecy: str = ""
    deepinfer: str = ""
    table: str = ""


@dataclass(frozen=True)
class Study:
    """The whole file."""

    name: str
    root: Path
    datasets: tuple[DatasetEntry, ...]
    outputs: tuple[OutputsEntry, ...] = ()
    printed: dict[str, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path, root: Path | None = None) -> Study:
        """Raises BenchError that names the key that is missing or wrong. ``root`` defaults to the
        file's folder."""
        content, folder = read_description(path, root)
        datasets = tuple(_entry(path, DatasetEntry, t) for t in _tables(path, content, "dataset"))
        if not datasets:
            raise BenchError(f"{path}: describes no [[dataset]]")
        for entry in datasets:
            _check(path, entry)
        printed = content.get("printed", {})
        if not isinstance(printed, dict) or not all(isinstance(v, str) for v in printed.values()):
            raise BenchError(f"{path}: [printed] must name one file a table")
        return cls(
            str(content.get("name", path.stem)),
            folder,
            datasets,
            tuple(_entry(path, OutputsEntry, t) for t in _tables(path, content, "outputs")),
            printed,
        )

    def file(self, name: str) -> Path:
        """A file of the study. Raises BenchError if there is none."""
        path = self.root / name
        if not path.is_file():
            raise BenchError(f"{path}: does not exist; the study names it (see --root)")
        return path

    def dataset(self, name: str) -> DatasetEntry:
        """The data set of this name."""
        for entry in self.datasets:
            if entry.name == name:
                return entry
        known = ", ".join(e.name for e in self.datasets)
        raise BenchError(f"--datasets: unknown data set {name!r}; there are {known}")


def _tables(path: Path, content: dict[str, Any], key: str) -> list[dict[str, Any]]:
    found = content.get(key, [])
    if not isinstance(found, list) or not all(isinstance(t, dict) for t in found):
        raise BenchError(f"{path}: {key} must be tables, [[{key}]]")
    return found


def _entry(path: Path, kind: Any, table: dict[str, Any]) -> Any:
    """A frozen entry of a TOML table, with the types of its fields."""
    where = f"{path}: [[{'dataset' if kind is DatasetEntry else 'outputs'}]]"
    known = {f.name: f for f in fields(kind)}
    unknown = sorted(set(table) - set(known))
    if unknown:
        raise BenchError(f"{where}: unknown key {unknown[0]!r}; there are {', '.join(known)}")
    values: dict[str, Any] = {}
    for name, value in table.items():
        wanted = str(known[name].type)
        if wanted.startswith("tuple"):
            good = isinstance(value, list) and all(isinstance(v, str) for v in value)
            values[name] = tuple(value) if good else None
        else:
            good = isinstance(value, int if wanted == "int" else str)
            values[name] = value
        if not good:
            raise BenchError(f"{where}: {name} is {value!r}, not {_KINDS[wanted]}")
    try:
        return kind(**values)
    except TypeError as error:
        missing = str(error).partition("argument")[2].lstrip("s: ")
        raise BenchError(f"{where}: lacks {missing}") from None


_KINDS = {"tuple[str, ...]": "a list of texts", "int": "a whole number", "str": "a text"}


def _check(path: Path, entry: DatasetEntry) -> None:
    where = f"{path}: data set {entry.name!r}"
    if bool(entry.x and entry.y) == bool(entry.source and entry.label):
        raise BenchError(f"{where}: give x and y (a file a split), or source and label")
    if entry.x and "{split}" not in entry.x:
        raise BenchError(f"{where}: x must hold {{split}}, for {', '.join(SPLITS)}")
    if entry.scale not in ("", "minmax"):
        raise BenchError(f"{where}: unknown scale {entry.scale!r}; there is minmax")
