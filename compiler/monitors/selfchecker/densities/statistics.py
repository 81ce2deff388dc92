"""Coordinates in which a layer's classes are easy to describe."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from edgemon.compiler.methods.kernel_density import VAR_THRESHOLD

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[np.integer]

MOST_DIMENSIONS = 128
FLAT = 1e-8  # variance of a direction, as a share of the largest, below which it is left out


class LayerStatistics:
    """Means and covariances of the classes, in coordinates whitened within the classes.

    Direction 0 tells most: the directions are the eigenvectors of the scatter of the class means
    plus the mean squared deviation of the class covariances from the pooled one, so that the first
    ones hold what separates classes by position or by shape. At most ``MOST_DIMENSIONS``.

    Attributes:
        kept: neurons with enough variance, as the exact density keeps them.
        centre: (width,) mean of all rows.
        basis: (width, q) directions; coordinates are ``(x - centre) @ basis``.
        counts: (classes,) rows.
        means: (classes, q); covariances: (classes, q, q), of classes with too few rows the pooled.
    """

    def __init__(self, x: Floats, labels: Array, n_classes: int) -> None:
        self.kept = np.flatnonzero(np.var(x, axis=0) >= VAR_THRESHOLD)
        self.centre = x.mean(axis=0)
        self.counts = np.bincount(labels, minlength=n_classes)
        own = self._whitening(x, labels)
        self.basis = np.zeros((x.shape[1], own.shape[1]))
        self.basis[self.kept] = own
        self.basis = self.basis @ self._informative(x, labels)
        q = self.dimensions
        self.means = np.zeros((n_classes, q))
        self.covariances = np.tile(np.eye(q), (n_classes, 1, 1))
        for c in np.flatnonzero(self.counts):
            u = self.coordinates(x[labels == c])
            self.means[c] = u.mean(axis=0)
            if len(u) > 1:
                self.covariances[c] = _covariance(u)

    @property
    def dimensions(self) -> int:
        return int(self.basis.shape[1])

    def coordinates(self, x: Floats) -> Floats:
        """(n, q) of features (n, width)."""
        return np.asarray((x - self.centre) @ self.basis)

    def discriminants(self, most: int) -> Floats:
        """(at most ``most``, width): Fisher's linear discriminants, the best first."""
        present = np.flatnonzero(self.counts)
        means = self.means[present]
        scatter = (means * self.counts[present, None]).T @ means
        found = min(most, len(present) - 1, self.dimensions)
        _, vectors = np.linalg.eigh(scatter)
        return np.asarray((self.basis @ vectors[:, ::-1][:, :found]).T)

    def principal(self, x: Floats, most: int) -> Floats:
        """(at most ``most``, width): principal components of rows (n, width), the widest first."""
        _, vectors = np.linalg.eigh(np.atleast_2d(np.cov(x[:, self.kept], rowvar=False)))
        found = np.zeros((min(most, self.kept.size), x.shape[1]))
        found[:, self.kept] = vectors.T[::-1][: len(found)]
        return found

    def _whitening(self, x: Floats, labels: Array) -> Floats:
        """(kept, q): whitens the covariance within classes."""
        within = np.zeros((self.kept.size, self.kept.size))
        for c in np.flatnonzero(self.counts > 1):
            rows = x[labels == c][:, self.kept]
            rows -= rows.mean(axis=0)
            within += rows.T @ rows
        within /= max(1, len(x) - int(np.count_nonzero(self.counts)))
        variance, vectors = np.linalg.eigh(within)
        used = variance > FLAT * max(variance.max(initial=0.0), np.finfo(float).tiny)
        return np.asarray(vectors[:, used] / np.sqrt(variance[used]))

    def _informative(self, x: Floats, labels: Array) -> Floats:
        """(q, at most MOST_DIMENSIONS) orthonormal directions, the most informative first. One
        class at a time: the covariances of all in all dimensions can be too large to keep."""
        q = self.dimensions
        information = np.zeros((q, q))
        for c in np.flatnonzero(self.counts):
            u = self.coordinates(x[labels == c])
            mean = u.mean(axis=0)
            information += np.outer(mean, mean)
            if len(u) > 1:
                deviation = _covariance(u) - np.eye(q)
                # Few rows scatter as much as a different shape would: they count by their number.
                information += deviation @ deviation * len(u) / (len(u) + q)
        _, vectors = np.linalg.eigh(information)
        return np.asarray(vectors[:, ::-1][:, :MOST_DIMENSIONS])


def _covariance(u: Floats) -> Floats:
    """(q, q), unbiased, of rows (n, q), n at least 2."""
    centred = u - u.mean(axis=0)
    return np.asarray(centred.T @ centred / (len(u) - 1))
