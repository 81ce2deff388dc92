"""The description of a study of accuracy estimates: TOML with paths relative to a root folder.

[[case]]
name = "resnet8"
model = "models/resnet8.tflite"       # compiled with these keys, as ``edgemon compile`` takes them:
fit = "train.npz"
calibrate = "test.npz[0:5000]"
test = "test.npz[5000:10000]"
preprocess = ""
label_order = "numeric"
reference = "test.npz[0:5000]"        # labelled rows to learn from
rows = "test.npz[5000:10000]"         # the user's, clean; faults are made of them
faults = ["gaussian:1-5", "fog:3"]    # name:severity or name:first-last
surrogate = "train.npz"               # rows on which a network learns that FGSM attacks
attack = 4                            # FGSM's severity, on the surrogate
[[case.set]]                          # other rows of the user's
name = "another country"
data = "belgium.npz"
relabel = { "21" = 14 }               # to labels of the model; others are left out
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from edgemon.bench.description import read_description
from edgemon.bench.errors import BenchError
from edgemon.compiler.faults.registry import find


@dataclass(frozen=True)
class UserSet:
    """One ``[[case.set]]``."""

    name: str
    data: str
    relabel: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Case:
    """One ``[[case]]``; ``faults`` are names and severities."""

    name: str
    model: str
    fit: str
    calibrate: str
    test: str
    reference: str
    rows: str
    preprocess: str = ""
    label_order: str = "numeric"
    surrogate: str = ""
    attack: int = 0
    faults: tuple[tuple[str, int], ...] = ()
    sets: tuple[UserSet, ...] = ()


def read(path: Path, root: Path | None) -> tuple[Path, list[Case]]:
    """The root folder and the cases. Raises BenchError that names the key that is wrong."""
    content, folder = read_description(path, root)
    tables = content.get("case", [])
    if not isinstance(tables, list) or not tables:
        raise BenchError(f"{path}: describes no [[case]]")
    return folder, [_case(f"{path}: [[case]]", table) for table in tables]


def _case(where: str, table: Any) -> Case:
    if not isinstance(table, dict) or not isinstance(table.get("name"), str):
        raise BenchError(f"{where}: needs a name")
    where = f"{where} {table['name']!r}"
    known = {f.name for f in fields(Case)} - {"sets"}
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key == "set":
            values["sets"] = tuple(_set(where, s) for s in value)
        elif key == "faults":
            values["faults"] = tuple(one for text in value for one in _faults(where, text))
        elif key not in known:
            raise BenchError(f"{where}: unknown key {key!r}; there are {', '.join(sorted(known))}")
        elif not isinstance(value, int if key == "attack" else str):
            raise BenchError(f"{where}: {key} is {value!r}")
        else:
            values[key] = value
    missing = {"model", "fit", "calibrate", "test", "reference", "rows"} - values.keys()
    if missing:
        raise BenchError(f"{where}: lacks {sorted(missing)[0]}")
    return Case(**values)


def _set(where: str, table: Any) -> UserSet:
    try:
        pairs = {int(k): int(v) for k, v in table.get("relabel", {}).items()}
        return UserSet(str(table["name"]), str(table["data"]), pairs)
    except (AttributeError, KeyError, ValueError):
        raise BenchError(
            f"{where}: a [[case.set]] needs name, data and numbers in relabel"
        ) from None


def _faults(where: str, text: Any) -> list[tuple[str, int]]:
    match = re.fullmatch(r"([a-z_]+):(\d)(?:-(\d))?", text) if isinstance(text, str) else None
    if match is None:
        raise BenchError(f"{where}: fault {text!r}; write name:severity or name:first-last")
    name, first, last = match.groups()
    most = find(name).severities
    if not 1 <= int(first) <= int(last or first) <= most:
        raise BenchError(f"{where}: fault {text!r}: its severities are 1 to {most}")
    return [(name, severity) for severity in range(int(first), int(last or first) + 1)]
