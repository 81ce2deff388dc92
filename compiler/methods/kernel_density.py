"""Gaussian kernel densities of one layer, one a class; in the log domain, in bounded memory."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

VAR_THRESHOLD = 1e-5
REGULARISATION = 0.01
BLOCK_BYTES = 8 << 20


class KernelDensity(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """One kernel a row, all of the same covariance: Scott's factor squared times the unbiased
    covariance of the rows. If that is singular it is the covariance + 0.01 I instead, without
    Scott's factor (so does the published program)."""

    def __init__(self, block_bytes: int = BLOCK_BYTES) -> None:
        self.block_bytes = block_bytes

    def fit(self, x: Array) -> Self:
        """Learn from rows (n, d), n and d at least 1."""
        x = np.asarray(x, np.float64)
        n, d = x.shape
        self.centre_ = x.mean(axis=0)
        covariance = np.atleast_2d(np.cov(x, rowvar=False)) if n > 1 else np.zeros((d, d))
        self.regularised_, self.factor_ = _kernel_factor(covariance, n)
        self.kernels_ = self._whiten(x)
        self.log_norm_ = d * np.log(2 * np.pi) / 2 + np.log(np.diag(self.factor_)).sum()
        return self

    def log_density(self, x: Array) -> Floats:
        """(m,) of rows (m, d). Memory beside the result is about ``block_bytes``."""
        x = np.asarray(x, np.float64)
        n = len(self.kernels_)
        rows = max(1, self.block_bytes // (8 * n))
        # -|a - b|^2 / 2 is (a b - |b|^2 / 2) - |a|^2 / 2: one product, then what only the row has.
        squares = np.einsum("ij,ij->i", self.kernels_, self.kernels_)
        with_squares = np.column_stack([self.kernels_, squares / -2]).T
        found = np.empty(len(x))
        for start in range(0, len(x), rows):
            white = self._whiten(x[start : start + rows])
            exponent = np.column_stack([white, np.ones(len(white))]) @ with_squares
            largest = exponent.max(axis=1)
            exponent -= largest[:, None]
            np.exp(exponent, out=exponent)
            # The mean before the logarithm: classes whose rows are all equal then tie exactly.
            mean = exponent.sum(axis=1) / n
            own = np.einsum("ij,ij->i", white, white) / 2
            found[start : start + rows] = largest - own + np.log(mean)
        return np.asarray(found - self.log_norm_)

    def _whiten(self, x: Floats) -> Floats:
        return np.asarray(solve_triangular(self.factor_, (x - self.centre_).T, lower=True).T)


class LayerDensities(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """The densities of one layer's neurons (or of a convolution's channel means), one a class."""

    def __init__(
        self, n_classes: int, var_threshold: float = VAR_THRESHOLD, block_bytes: int = BLOCK_BYTES
    ) -> None:
        self.n_classes = n_classes
        self.var_threshold = var_threshold
        self.block_bytes = block_bytes

    def fit(self, values: Array, labels: Array) -> Self:
        """Learn from neuron values (n, neurons) and true classes (n,). Neurons with less variance
        than ``var_threshold`` over all rows are dropped."""
        self.kept_ = np.flatnonzero(np.var(values, axis=0, dtype=np.float64) >= self.var_threshold)
        self.densities_: list[KernelDensity | None] = []
        with threadpool_limits(1):
            for c in range(self.n_classes):
                rows = values[labels == c][:, self.kept_]
                self.densities_.append(
                    KernelDensity(self.block_bytes).fit(rows) if rows.size else None
                )
        return self

    def log_densities(self, values: Array) -> Floats:
        """(m, classes); minus infinity for a class without rows, all 0 if no neuron was kept. A
        thread a class, each within ``block_bytes``."""
        if not self.kept_.size:
            return np.zeros((len(values), self.n_classes))
        kept = values[:, self.kept_]
        found = np.full((len(values), self.n_classes), -np.inf)

        def of_class(c: int) -> None:
            density = self.densities_[c]
            if density is not None:
                found[:, c] = density.log_density(kept)

        # Exponentials take most of the time: a thread a class keeps all cores busy, where threads
        # inside the small matrix products would only wait for each other.
        with threadpool_limits(1), ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(of_class, range(self.n_classes)))
        return found

    def classes(self, values: Array) -> npt.NDArray[np.int64]:
        """(m,): the layer's own class of each row, the lower one on a tie."""
        return np.asarray(self.log_densities(values).argmax(axis=1))


def _kernel_factor(covariance: Floats, n: int) -> tuple[bool, Floats]:
    """Was it singular, and the lower Cholesky factor of the kernels' covariance."""
    d = len(covariance)
    if np.linalg.matrix_rank(covariance) == d:
        try:
            return False, np.asarray(cholesky(covariance, lower=True) * n ** (-1 / (d + 4)))
        except LinAlgError:
            pass
    return True, np.asarray(cholesky(covariance + REGULARISATION * np.eye(d), lower=True))
