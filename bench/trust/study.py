"""``edgemon trust-study``: trust of models that read different rows, on these and on changed ones.

[defaults]                              # keys that every model has unless it gives its own
[[model]]
name = "resnet8"                        # default: the file's
model = "models/resnet8.tflite"
data = "cifar10_test.npz"
preprocess = ""
label_order = "numeric"
most_label = 10                         # rows with larger labels are left out
faults = ["fog:5"]                      # also on rows with these, name:severity
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.bench.description import read_description
from edgemon.bench.errors import BenchError
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import load
from edgemon.compiler.errors import MissingPackageError
from edgemon.compiler.faults.registry import find, make
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.trust.answers import answers
from edgemon.compiler.trust.document import describe
from edgemon.compiler.trust.judge import Reading
from edgemon.runtime.preprocess import Preprocess

Document = dict[str, Any]


@dataclass(frozen=True)
class Subject:
    """One ``[[model]]``."""

    model: str
    data: str
    name: str = ""
    preprocess: str = ""
    label_order: str = "numeric"
    most_label: int = -1  # rows with larger labels are left out
    faults: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return self.name or Path(self.model).stem


def run(spec: Path, root: Path | None, *, seed: int, workers: int, reporter: Reporter) -> Document:
    """``models``: documents of ``edgemon trust``; ``not_available``: names, and why. Raises
    EdgemonError for a description or a model that is wrong."""
    subjects, folder = read(spec, root)
    found, missing = [], {}
    for subject in subjects:
        try:
            found += list(_of(subject, folder, seed, workers, reporter))
        except MissingPackageError as error:
            missing[subject.title] = str(error)
    return {"models": found, "not_available": missing}


def read(spec: Path, root: Path | None) -> tuple[list[Subject], Path]:
    """The models, and the root folder. Raises BenchError that names the key that is wrong."""
    content, folder = read_description(spec, root)
    tables, defaults = content.get("model"), content.get("defaults", {})
    if not isinstance(tables, list) or not tables:
        raise BenchError(f"{spec}: describes no [[model]]")
    known = {f.name: f.type for f in fields(Subject)}
    subjects = []
    for table in tables:
        values = {**defaults, **table}
        for key, value in values.items():
            if key not in known:
                raise BenchError(f"{spec}: unknown key {key!r}; there are {', '.join(known)}")
            wanted: Any = list if key == "faults" else int if key == "most_label" else str
            if not isinstance(value, wanted):
                raise BenchError(f"{spec}: {key} is {value!r}")
        if not values.get("model") or not values.get("data"):
            raise BenchError(f"{spec}: a [[model]] needs model and data")
        values["faults"] = tuple(values.get("faults", ()))
        for text in values["faults"]:
            _fault(text)
        subjects.append(Subject(**values))
    return subjects, folder


def _of(
    subject: Subject, root: Path, seed: int, workers: int, reporter: Reporter
) -> Iterator[Document]:
    reading = Reading(Preprocess.parse(subject.preprocess), subject.label_order)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        scratch = Path(name)
        for title, data in _rows(subject, root, scratch, seed, reporter):
            found = answers(root / subject.model, data, reading, workers=workers, reporter=reporter)
            yield describe(title, found, seed=seed)


def _rows(
    subject: Subject, root: Path, scratch: Path, seed: int, reporter: Reporter
) -> Iterator[tuple[str, str]]:
    plain = str(root / subject.data)
    if not subject.faults and subject.most_label < 0:
        yield subject.title, plain
        return
    rows = load(plain, scratch, pictures=Pictures(), warn=reporter.warn)
    if rows.y is None:
        raise BenchError(f"{plain}: has no labels")
    if subject.most_label >= 0:
        rows = rows.take(np.flatnonzero(rows.y <= subject.most_label))
    (images,), labels = rows.blocks(len(rows)), np.asarray(rows.y)
    for text in ("", *subject.faults):
        changed = images
        if text:
            fault, severity = _fault(text)
            with reporter.stage(f"making {text}"):
                changed = make(images, fault, severity, seed=seed, rows=rows.numbers.tolist())
        folder = Path(tempfile.mkdtemp(dir=scratch))
        np.save(folder / "x.npy", changed)
        np.save(folder / "y.npy", labels)
        title = f"{subject.title}, {text.replace(':', ' ')}" if text else subject.title
        yield title, f"{folder / 'x.npy'},{folder / 'y.npy'}"


def _fault(text: str) -> tuple[str, int]:
    name, _, severity = text.partition(":")
    most = find(name).severities
    if not severity.isdigit() or not 1 <= int(severity) <= most:
        raise BenchError(f"fault {text!r}: write name:severity, with a severity from 1 to {most}")
    return name, int(severity)
