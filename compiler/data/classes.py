"""Which label is which class of the model, and what the classes are called.

A model has classes in an order; data has labels, which are numbers or words. Which is which is
said by ``--classes``, or is taken from the data, and then only where there are as many words as
classes: a class that the data lacks would otherwise shift the others without a word.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.labels import as_number
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Warn

Indices = npt.NDArray[np.int64]

ORDERS = ("numeric", "string")
FILES = (".txt", ".json")
SHOWN = 12  # names in a message


@dataclass(frozen=True)
class Classes:
    """Of class j of the model: ``names[j]``, and ``values[j]``, its label where labels are
    numbers."""

    names: tuple[str, ...]
    values: tuple[int, ...]

    @property
    def map(self) -> Indices:
        """(K,): ``values``, as ``to_classes`` takes them."""
        return np.array(self.values, np.int64)

    def positions(self, data: Dataset) -> Indices:
        """(n,): the class of each row, -1 where none has its label. Words are looked up in
        ``names``, in whatever order the data has them numbered; so are numbers, if all are names.
        Raises DataError without labels."""
        if data.y is None:
            raise DataError(f"{data.source}: has no labels")
        found, at = np.unique(data.y, return_inverse=True)
        words = [data.class_names[v] if data.class_names else str(v) for v in found.tolist()]
        by_name = {_key(name): j for j, name in enumerate(self.names)}
        each = [by_name.get(_key(word), -1) for word in words]
        if data.class_names is None and -1 in each:
            by_value = {value: j for j, value in enumerate(self.values)}
            each = [by_value.get(value, -1) for value in found.tolist()]
        return np.array(each, np.int64)[at]

    def numbered(self, data: Dataset, whose: str = "the model") -> Dataset:
        """The same rows with labels from ``values``. Raises DataError for a label that no class
        has; ``whose`` classes, its sentence says."""
        if data.y is None:
            return data
        position = self.positions(data)
        if (position < 0).any():
            row = int(np.argmax(position < 0))
            label = int(data.y[row])
            name = repr(data.class_names[label]) if data.class_names else str(label)
            from_one = not data.class_names and data.y.min() > 0 and data.y.max() == len(self.names)
            hint = (
                f"labels seem to count from 1: say --classes 1,2,...,{len(self.names)}"
                if from_one
                else "leave its rows out, or say which class is which with --classes"
            )
            raise DataError(
                f"{data.source}: label {name} (row {int(data.numbers[row])}) has no class: "
                f"{whose} has {len(self.names)}, {_listed(self.names)}; {hint}"
            )
        return replace(data, y=self.map[position], class_names=data.class_names and self.names)


def resolve(
    parts: Mapping[str, Dataset], n_classes: int, *, order: str = "numeric",
    given: Sequence[str] | None = None, of_model: Sequence[str] = (), warn: Warn,
) -> tuple[Classes, dict[str, Dataset]]:  # fmt: skip
    """The classes of a model that has ``n_classes``, and the parts with labels from ``values``.

    ``given`` are the names in the model's order; numbers as labels are then positions, unless all
    of them are names. Else ``of_model``, which the model's file has, are taken likewise. Else words
    are sorted as text, as training tools sort folders, and must be as many as classes; numbers are
    classes, or, where some are not and there are as many different ones as classes, they are sorted
    by ``order``. ``parts`` agree about words (``align_classes``). Warns of classes without rows.
    Raises DataError.
    """
    if order not in ORDERS:
        raise DataError(f"label order {order!r} is unknown; use {' or '.join(ORDERS)}")
    if given is None and len(of_model) == n_classes and order == ORDERS[0]:
        given, whose = of_model, "the model"
    elif given is not None:
        whose = "--classes"
        if order != ORDERS[0]:
            raise DataError("--classes says the order of the classes: leave out --label-order")
        if len(given) != n_classes:
            raise DataError(
                f"--classes names {len(given)} classes ({_listed(given)}), but the model has "
                f"{n_classes}; name each of them, in the model's order"
            )
    if given is not None:
        classes = Classes(tuple(given), _numbers_of(given))
    elif any(data.class_names for data in parts.values()):
        classes = Classes(_words(parts, n_classes, warn), tuple(range(n_classes)))
    else:
        values = _values(parts, n_classes, order, warn)
        classes = Classes(tuple(map(str, values)), values)
    numbered = {
        name: classes.numbered(data, whose if given else "the model")
        for name, data in parts.items()
    }
    _warn_of_absent(classes, numbered, warn)
    return classes, numbered


def parse_names(text: str | None) -> tuple[str, ...] | None:
    """What ``--classes`` says: ``a,b,c``, a .txt with a name a line, or a .json with a list (or an
    object of names and positions, either way round). Raises DataError."""
    if not text:
        return None
    path = Path(text)
    if path.suffix.lower() in FILES:
        names = _from_file(path)
    else:
        names = [part.strip() for part in text.split(",")]
    if "" in names:
        raise DataError(f"--classes {text}: the name of class {names.index('')} is empty")
    keys = [_key(name) for name in names]
    twice = next((n for n, k in zip(names, keys, strict=True) if keys.count(k) > 1), None)
    if twice is not None:
        raise DataError(f"--classes {text}: {twice!r} is there twice; classes need different names")
    return tuple(names)


def label_map(n_classes: int, order: str) -> Indices:
    """The data label of each model class: ``map[class] = label``.

    "numeric": class j has label j. "string": classes are sorted as text (0, 1, 10, 11, ..., 2), as
    tools do that read class folders by name.
    """
    if order not in ORDERS:
        raise DataError(f"label order {order!r} is unknown; use {' or '.join(ORDERS)}")
    return np.array(_sorted(range(n_classes), order), np.int64)


def to_classes(y: npt.NDArray[np.integer[Any]], labels: Indices) -> Indices:
    """The model class of each label, ``labels`` being a label map. Raises DataError for a label
    that no class has."""
    order = np.argsort(labels)
    at = np.minimum(np.searchsorted(labels[order], y), len(labels) - 1)
    unknown = labels[order][at] != y
    if unknown.any():
        row = int(np.argmax(unknown))
        raise DataError(
            f"label {int(y[row])} (row {row}) has no class: the model has {len(labels)} classes, "
            f"{int(labels.min())} to {int(labels.max())}"
        )
    return order[at].astype(np.int64)


def _words(parts: Mapping[str, Dataset], n_classes: int, warn: Warn) -> tuple[str, ...]:
    names = next(data.class_names for data in parts.values() if data.class_names) or ()
    with_rows = [names[v] for v in _present(parts)]
    if len(names) > n_classes == len(with_rows):
        without = [n for n in names if n not in with_rows]
        warn(f"{_listed(without)}: holds no image, and the model has {n_classes} classes without "
             "it: taken for no class")  # fmt: skip
        return tuple(with_rows)
    if len(names) != n_classes:
        problem = (
            "which are the missing ones is unknown" if len(names) < n_classes
            else "the model cannot answer them all"
        )  # fmt: skip
        raise DataError(
            f"the labels are {len(names)} words ({_listed(names)}), but the model has {n_classes} "
            f"classes: {problem}; name the model's classes in its order with --classes a,b,c or a "
            "file"
        )
    return tuple(names)


def _values(
    parts: Mapping[str, Dataset], n_classes: int, order: str, warn: Warn
) -> tuple[int, ...]:
    if _present(parts) != list(range(1, n_classes + 1)):
        return tuple(label_map(n_classes, order).tolist())
    values = _sorted(range(1, n_classes + 1), order)
    warn(
        f"the labels count from 1 to {n_classes}, the number of the model's classes: its first "
        f"class is taken to be {values[0]}, its last one {values[-1]}; if not, say --classes"
    )
    return tuple(values)


def _present(parts: Mapping[str, Dataset]) -> list[int]:
    """All labels that occur, in ascending order."""
    labels = [np.unique(data.y) for data in parts.values() if data.y is not None]
    found: list[int] = np.unique(np.concatenate(labels)).tolist() if labels else []
    return found


def _warn_of_absent(classes: Classes, parts: Mapping[str, Dataset], warn: Warn) -> None:
    """Of classes without rows in all of the data, or, where the parts were given one by one, in one
    of these."""
    everywhere = _absent(classes, parts)
    if everywhere and _present(parts):
        has = "class has" if len(everywhere) == 1 else "classes have"
        warn(
            f"{len(everywhere)} {has} no row in the data: {_listed(everywhere)}; nothing is "
            "learned or measured about that"
        )
    if len({data.source for data in parts.values()}) == 1:
        return
    for name, data in parts.items():
        absent = [n for n in _absent(classes, {name: data}) if n not in everywhere]
        if absent:
            warn(f"the {name} rows ({data.source}) have none of the class {_listed(absent)}")


def _absent(classes: Classes, parts: Mapping[str, Dataset]) -> list[str]:
    present = set(_present(parts))
    return [n for n, v in zip(classes.names, classes.values, strict=True) if v not in present]


def _numbers_of(names: Sequence[str]) -> tuple[int, ...]:
    """The labels that names are, if all are whole numbers; else positions."""
    whole = [key for key in map(_key, names) if isinstance(key, int) and key >= 0]
    return tuple(whole) if len(whole) == len(names) else tuple(range(len(names)))


def _sorted(values: range, order: str) -> list[int]:
    return sorted(values, key=str) if order == "string" else sorted(values)


def _key(name: str) -> str | int:
    """Names that are whole numbers are alike where the numbers are: 7, 07 and 7.0."""
    number = as_number(name)
    whole = number is not None and math.isfinite(number) and number == int(number)
    return int(number or 0) if whole else name


def _from_file(path: Path) -> list[str]:
    try:
        text = path.read_text(encoding="utf-8-sig")
        found = json.loads(text) if path.suffix.lower() == ".json" else None
    except (OSError, ValueError, RecursionError) as error:
        why = getattr(error, "strerror", None) or error
        raise DataError(f"--classes {path}: cannot be read ({why})") from None
    if found is None:
        return [line.strip() for line in text.rstrip().splitlines()]
    if isinstance(found, dict):
        found = _by_position(found)
    if not isinstance(found, list) or not all(isinstance(v, (str, int)) for v in found):
        raise DataError(
            f'--classes {path}: is no list of names; write ["a", "b"], in the model\'s order'
        )
    return [str(v).strip() for v in found]


def _by_position(found: dict[str, Any]) -> list[Any] | None:
    """{"0": "a"} or {"a": 0} as a list; None if the positions are not 0, 1, ..."""
    for pairs in (found.items(), [(v, k) for k, v in found.items()]):
        try:
            by_number = {int(k): v for k, v in pairs}
        except (TypeError, ValueError):
            continue
        if sorted(by_number) == list(range(len(found))):
            return [by_number[i] for i in range(len(found))]
    return None


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:SHOWN])
    return shown if len(names) <= SHOWN else f"{shown}, ... ({len(names)} in all)"
