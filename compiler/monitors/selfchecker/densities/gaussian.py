"""One Gaussian a class, as far as classes differ: what all precisions share cancels out."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from edgemon.compiler.monitors.selfchecker.densities.density import (
    EMPTY,
    ClassDensity,
    affine,
    constants,
)
from edgemon.compiler.monitors.selfchecker.densities.statistics import LayerStatistics
from edgemon.compiler.program.ir import Builder

Floats = npt.NDArray[np.float64]


class Precisions:
    """The classes' precisions in the first coordinates: what they share, and the eigenvalues and
    eigenvectors of what each adds. Gaussians of every rank are made of it."""

    def __init__(
        self, statistics: LayerStatistics, dimensions: int, pseudo_rows: float = 1.0
    ) -> None:
        """``pseudo_rows``: rows of the pooled covariance that each class is given."""
        q = self.dimensions = dimensions
        self.basis, self.centre = statistics.basis[:, :q], statistics.centre
        self.means = statistics.means[:, :q]
        self.present = np.flatnonzero(statistics.counts)
        own = np.maximum(statistics.counts - 1, 0)[:, None, None]
        summed = own * statistics.covariances[:, :q, :q] + pseudo_rows * np.eye(q)
        covariances = summed / (own + pseudo_rows)
        self.log_determinants = np.linalg.slogdet(covariances)[1]
        precisions = np.linalg.inv(covariances)
        self.shared = precisions[self.present].mean(axis=0)
        self.deviations = {c: np.linalg.eigh(precisions[c] - self.shared) for c in self.present}


class Gaussian(ClassDensity):
    """Quadratic discriminant analysis of low rank.

    In whitened coordinates u the log-density of class c is ``-(u - m)' P (u - m) / 2`` and a
    constant. With the mean precision P0 of the classes, P is P0 + D, and ``u' P0 u`` is common to
    all classes: only D remains, of which the ``rank`` eigenvalues that are largest by amount are
    kept, with their signs. Rank 0 is a linear discriminant.

    The device computes ``linear @ x + constant + sum over k of weight * (row_k @ x + offset)^2``.
    """

    form: ClassVar[str] = "gaussian"

    def __init__(self, shape: Precisions, rank: int, *, folded: bool) -> None:
        """``folded``: rows read the features themselves rather than the coordinates, which is
        smaller where features are few."""
        q, classes = shape.dimensions, len(shape.means)
        self.dimensions = q
        self.rank = min(rank, q)
        self.folded = folded
        self.basis_, self.centre_ = shape.basis, shape.centre
        self.linear_ = np.zeros((classes, q))
        self.constant_ = np.full(classes, EMPTY)
        self.rows_ = np.zeros((self.rank, classes, q))
        self.signs_ = np.zeros((self.rank, classes))
        for c in shape.present:
            value, vector = shape.deviations[c]
            largest = np.argsort(-np.abs(value), kind="stable")[: self.rank]
            rows = (vector[:, largest] * np.sqrt(np.abs(value[largest]))).T
            signs = np.sign(value[largest])
            precision = shape.shared + (rows.T * signs) @ rows
            self.rows_[:, c], self.signs_[:, c] = rows, signs
            self.linear_[c] = precision @ shape.means[c]
            spread = shape.means[c] @ precision @ shape.means[c] + shape.log_determinants[c]
            self.constant_[c] = -spread / 2

    def log_densities(self, x: Floats) -> Floats:
        u = (x - self.centre_) @ self.basis_
        projected = u @ self.rows_.reshape(-1, self.dimensions).T
        squares = np.square(projected).reshape(len(x), *self.signs_.shape)
        return np.asarray(
            u @ self.linear_.T + self.constant_ - np.einsum("nkc,kc->nc", squares, self.signs_) / 2
        )

    def lower(self, builder: Builder, x: int) -> int:
        rows = self.rows_.reshape(-1, self.dimensions)
        linear = self.linear_
        if self.folded:
            linear, rows = linear @ self.basis_.T, rows @ self.basis_.T
            shift = -self.centre_
        else:
            x = affine(builder, x, self.basis_.T, -self.centre_ @ self.basis_)
            shift = np.zeros(self.dimensions)
        total = affine(builder, x, linear, self.constant_ + linear @ shift)
        if not self.rank:
            return total
        projected = affine(builder, x, rows, rows @ shift)
        # ``reduce`` takes means over the rank, so the weights are multiplied by it.
        weights = constants(builder, projected, self.signs_.ravel() * -0.5 * self.rank)
        squares = builder.node("mul", builder.node("mul", projected, projected), weights)
        channels = np.array([len(self.constant_)], np.uint32)
        return builder.node("add", total, builder.node("reduce", squares, tables=[channels]))

    def settings(self) -> dict[str, Any]:
        return {"dimensions": self.dimensions, "rank": self.rank}
