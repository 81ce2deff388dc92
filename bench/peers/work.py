"""What every contestant is given, and what it brings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int32]


class NotInstalledError(Exception):
    """A peer that cannot run here; the message says why, in one sentence."""


@dataclass(frozen=True, eq=False)
class Work:
    """A trained model and rows to judge."""

    name: str
    model: Any  # of scikit-learn
    rows: Floats  # (n, features)
    answers: Integers  # (n,): the class that scikit-learn gives each


@dataclass(frozen=True, eq=False)
class CSource:
    """C that has ``int32_t answer(const ROW *x)``, with ROW the type of a row's elements."""

    text: str
    row: str = "float"  # or int16_t: then rows are rounded to whole numbers
    include: tuple[Path, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)  # headers beside it
    bytes: int | None = None  # of what is deployed, where it is not the object's own size


@dataclass(frozen=True, eq=False)
class Function:
    """Python that answers one row (1, features) at a time."""

    call: Callable[[Floats], int]
    bytes: int | None = None


@dataclass(frozen=True)
class Contestant:
    """Who takes part; ``make`` raises NotInstalledError or ImportError where it cannot."""

    name: str
    make: Callable[[Work], CSource | Function]


def sentence(error: Exception) -> str:
    """Why somebody does not take part."""
    if isinstance(error, ImportError):
        return f"{error.name or error} is not installed (pip install 'edgemon[peers]')."
    return (str(error).splitlines() or [type(error).__name__])[0]
