"""Linear scores of classes, with weights of 16 bits where features are whole numbers and of 8 bits
where they are floats.

Classes are compared with one another, so that what is common to their scores does not count. A
squared distance is a product then: ``x @ c`` is ``-|x - c|^2 / 2`` but for the squares, of which
that of x is common to all classes. So scores of floats are logarithms of Gaussian kernels, whose
centres the runtime has in 8 bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program.ir import Builder

Floats = npt.NDArray[np.float64]

CODED_BYTES = 1  # of a weight of floats
MOST = 127  # of a code
CLIPPED = (1.0, 0.7, 0.5, 0.35)  # where codes end, of the largest weight
DAMPING = 0.01  # of the features' mean variance, added to each
LEAST_LENGTH = 1e-6  # of features and weights, for their ratio


@dataclass(frozen=True, eq=False)
class Codes:
    """Weights (classes, width) as int8 ``codes`` of a ``unit``, of features times a ``factor``."""

    codes: npt.NDArray[np.int8]
    unit: float
    factor: float


@dataclass(frozen=True, eq=False)
class ClassScores:
    """``weight @ x + bias`` (classes,) of features x (width,), less a number that is common to all.
    ``coded``: the weights; None where features are whole numbers."""

    weight: Floats
    bias: Floats
    coded: Codes | None

    @classmethod
    def of(cls, weight: Floats, bias: Floats, x: Floats, *, whole: bool) -> Self:
        """Scores of features such as x (n, width), which are whole numbers or floats."""
        if whole:
            return cls(weight, bias, None)
        codes, unit = rounded(weight, x)
        found = codes.astype(np.float64) * unit
        factor = _factor(weight, x)
        same_mean = bias + (weight - found) @ x.mean(axis=0)
        return cls(found, same_mean, Codes(codes, unit / factor, factor))

    def lower(self, builder: Builder, x: int) -> int:
        """Value id."""
        if self.coded is None:
            return builder.node("affine", x, tables=[self.weight.ravel(), self.bias])
        codes, unit = self.coded.codes, self.coded.unit
        squares = np.square(codes * unit).sum(axis=1)
        tables: list[npt.NDArray[Any]] = [
            np.array([1, len(codes)], np.uint32), codes.ravel(), np.array([unit]),
            self.bias + squares / 2,
        ]  # fmt: skip
        scaled = builder.node("scale", x, tables=[np.array([self.coded.factor])])
        return builder.node("kernels", scaled, tables=tables)


def rounded(weight: Floats, x: Floats) -> tuple[npt.NDArray[np.int8], float]:
    """Codes, and their unit, of weights (classes, width) whose scores of features (n, width) vary
    from those of the given weights as little as we find: for what one weight loses, weights of
    features that go along with it make up (Frantar, Ashkboos, Hoefler, Alistarh: OPTQ, ICLR 2023,
    section 3). The means of the scores may change."""
    covariance = np.atleast_2d(np.cov(x, rowvar=False))
    mean = float(np.diag(covariance).mean()) or 1.0
    damped = covariance + DAMPING * mean * np.eye(len(covariance))
    follow = np.linalg.cholesky(np.linalg.inv(damped)).T  # how later features make up for one
    largest = float(np.abs(weight).max()) or 1.0
    units = [share * largest / MOST for share in CLIPPED]
    tried = [(_in_units(weight / unit, follow), unit) for unit in units]
    return min(tried, key=lambda found: _lost(found[0] * found[1] - weight, covariance))


def _in_units(left: Floats, follow: Floats) -> npt.NDArray[np.int8]:
    codes = np.empty(left.shape, np.int8)
    for j in range(left.shape[1]):
        codes[:, j] = np.clip(np.rint(left[:, j]), -MOST, MOST)
        lost = (left[:, j] - codes[:, j]) / follow[j, j]
        left[:, j + 1 :] -= np.outer(lost, follow[j, j + 1 :])
    return codes


def _lost(error: Floats, covariance: Floats) -> float:
    """Variance of the scores' errors, all added up."""
    return float(np.sum((error @ covariance) * error))


def _factor(weight: Floats, x: Floats) -> float:
    """A power of two by which features are multiplied, and weights divided, so that both are about
    as long: then no square is much larger than the products, and takes their digits."""
    of_weight, of_x = (
        max(float(np.median(np.linalg.norm(v, axis=1))), LEAST_LENGTH) for v in (weight, x)
    )
    return float(2.0 ** np.rint(np.log2(of_weight / of_x) / 2))
