"""What every compact form gives: log-densities in NumPy, and the same as nodes of a program."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program.ir import Builder

Floats = npt.NDArray[np.float64]

EMPTY = -1e4  # log-density of a class without rows: never the largest, and finite in float32


class ClassDensity(ABC):
    """Log-densities of a layer's features, one a class, up to a term that all classes share."""

    form: ClassVar[str]

    @abstractmethod
    def log_densities(self, x: Floats) -> Floats:
        """(n, classes), in nats, of features (n, width)."""

    @abstractmethod
    def lower(self, builder: Builder, x: int) -> int:
        """Value id of the same, (classes,) of floats, in a real program; ``x`` are features."""

    @abstractmethod
    def settings(self) -> dict[str, Any]:
        """What distinguishes it from others of its form, for people; JSON types only."""


def constants(builder: Builder, x: int, values: Floats) -> int:
    """Value id of fixed floats: no op is without an input, so they are a bias beside zeros."""
    one = builder.node("max", x)
    return builder.node("affine", one, tables=[np.zeros(len(values)), values])


def affine(builder: Builder, x: int, matrix: Floats, bias: Floats) -> int:
    """Value id of ``matrix @ x + bias``, (k,); matrix (k, width)."""
    return builder.node("affine", x, tables=[np.ascontiguousarray(matrix).ravel(), bias])
