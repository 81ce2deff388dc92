"""What a layer becomes before boxes bound it: itself, two of its neurons, or a few dimensions.

The first and the last neuron are Henzinger, Lukina and Schilling's (ECAI 2020); principal
components and Isomap (Tenenbaum, de Silva, Langford, Science 2000) a class are an option of
Ferreira, Arlat, Guiochet, Waeselynck: "Benchmarking Safety Monitors for Image Classifiers with
Machine Learning", PRDC 2021.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.manifold import Isomap
from sklearn.metrics import r2_score

from edgemon.compiler.program.ir import Builder

Array = npt.NDArray[np.float64]

NEIGHBOURS = 10  # of the graph whose paths Isomap measures
MOST_ROWS = 1000  # of a class: the cost of Isomap grows with the cube
HELD_OUT = 0.2  # share of a class's rows on which the landmark map is compared with Isomap
FEWEST_ROWS = 10  # distinct rows of a class; with fewer there is no graph worth the name


class Projection(ABC):
    """Maps a layer's features (n, width) to (n, dimensions), for each class in its own way or for
    all alike (``by_class``)."""

    by_class = False

    @abstractmethod
    def fit(self, x: Array, classes: npt.NDArray[Any], n_classes: int) -> Projection:
        """Learn from rows (n, width) and their classes (n,)."""

    @abstractmethod
    def values(self, x: Array, c: int) -> Array:
        """(n, dimensions) of rows (n, width) of class c."""

    @abstractmethod
    def lower(self, builder: Builder, features: int, predicted: int, scale: Array) -> int:
        """Value id, (dimensions,), of the predicted class's projection times its row of
        ``scale`` (classes, dimensions), which only projections by class apply."""

    def details(self) -> dict[str, Any]:
        """What people should know of it; JSON types only."""
        return {}


class Unprojected(Projection):
    """Every neuron, as in the original method."""

    def fit(self, x: Array, classes: npt.NDArray[Any], n_classes: int) -> Projection:  # noqa: ARG002
        return self

    def values(self, x: Array, c: int) -> Array:  # noqa: ARG002
        return x

    def lower(self, builder: Builder, features: int, predicted: int, scale: Array) -> int:  # noqa: ARG002
        return features


class FirstAndLast(Projection):
    """The first and the last neuron of the layer."""

    def fit(self, x: Array, classes: npt.NDArray[Any], n_classes: int) -> Projection:  # noqa: ARG002
        self.index = np.unique([0, x.shape[1] - 1]).astype(np.uint32)
        return self

    def values(self, x: Array, c: int) -> Array:  # noqa: ARG002
        return x[:, self.index]

    def lower(self, builder: Builder, features: int, predicted: int, scale: Array) -> int:  # noqa: ARG002
        return builder.node("gather", features, tables=[self.index])


class PrincipalComponents(Projection):
    """The first principal components of each class's rows. A dimension that a class's rows do
    not span is 0."""

    by_class = True

    def __init__(self, dimensions: int, seed: int) -> None:
        self.dimensions, self.seed = dimensions, seed

    def fit(self, x: Array, classes: npt.NDArray[Any], n_classes: int) -> Projection:
        width = x.shape[1]
        size = min(self.dimensions, width)
        self.weight = np.zeros((n_classes, size, width))
        self.bias = np.zeros((n_classes, size))
        explained = []
        for c in range(n_classes):
            own = x[classes == c]
            count = min(size, len(own) - 1)
            if count < 1:
                continue
            found = PCA(count, random_state=self.seed).fit(own)
            self.weight[c, :count] = found.components_
            self.bias[c, :count] = -found.components_ @ found.mean_
            explained.append(float(np.nansum(found.explained_variance_ratio_)))
        self.explained = float(np.mean(explained)) if explained else None
        return self

    def values(self, x: Array, c: int) -> Array:
        return np.asarray(x @ self.weight[c].T + self.bias[c])

    def lower(self, builder: Builder, features: int, predicted: int, scale: Array) -> int:
        tables = [(self.weight * scale[..., None]).ravel(), (self.bias * scale).ravel()]
        return builder.node("select", builder.node("affine", features, tables=tables), predicted)

    def details(self) -> dict[str, Any]:
        return {"explained_variance": self.explained}


class IsomapLandmarks(Projection):
    """Isomap of each class's rows, exported as a linear map of the squared distances to landmarks.

    Isomap itself has no cheap map for new rows: it searches neighbours and shortest paths. The
    landmarks are k-means centres of the class's rows, the map is fitted by ridge regression to
    Isomap's embedding of the same rows. ``details`` tells how well it follows the embedding, on
    rows of each class that a map fitted for that purpose did not see.
    """

    by_class = True

    def __init__(self, dimensions: int, landmarks: int, seed: int) -> None:
        self.dimensions, self.landmarks, self.seed = dimensions, landmarks, seed

    def fit(self, x: Array, classes: npt.NDArray[Any], n_classes: int) -> Projection:
        size = min(self.dimensions, x.shape[1])
        self.centres = np.zeros((n_classes, self.landmarks, x.shape[1]))
        self.weight = np.zeros((n_classes, size, self.landmarks))
        self.bias = np.zeros((n_classes, size))
        self.fidelity: list[float | None] = []
        rng = np.random.default_rng(self.seed)
        for c in range(n_classes):
            own = np.unique(x[classes == c], axis=0)
            own = own[rng.permutation(len(own))[:MOST_ROWS]]
            if len(own) < max(FEWEST_ROWS, size + 2):
                self.fidelity.append(None)
                continue
            embedding = _isomap(own, size)
            kept = len(own) - int(HELD_OUT * len(own))
            trial = self._map(own[:kept], embedding[:kept])
            imitated = _applied(own[kept:], *trial)
            self.fidelity.append(float(r2_score(embedding[kept:], imitated)))
            self.centres[c], self.weight[c], self.bias[c] = self._map(own, embedding)
        return self

    def _map(self, x: Array, embedding: Array) -> tuple[Array, Array, Array]:
        """Landmarks (m, width), weights (d, m) of the squared distances to them, bias (d,)."""
        count = min(self.landmarks, len(x))
        found = KMeans(count, n_init=1, random_state=self.seed).fit(x).cluster_centers_
        centres = np.resize(found, (self.landmarks, x.shape[1]))
        squares = _squares(x, centres)
        middle = squares.mean(axis=0)
        unit = np.maximum(squares.std(axis=0), 1e-12)
        ridge = Ridge(alpha=1.0).fit((squares - middle) / unit, embedding)
        weight = ridge.coef_.reshape(embedding.shape[1], -1) / unit
        return centres, weight, ridge.intercept_ - weight @ middle

    def values(self, x: Array, c: int) -> Array:
        return _applied(x, self.centres[c], self.weight[c], self.bias[c])

    def lower(self, builder: Builder, features: int, predicted: int, scale: Array) -> int:
        far = builder.node("distances", features, tables=[self.centres.ravel()])
        own = builder.node("select", far, predicted)
        tables = [(self.weight * scale[..., None]).ravel(), (self.bias * scale).ravel()]
        return builder.node("select", builder.node("affine", own, tables=tables), predicted)

    def details(self) -> dict[str, Any]:
        known = [r for r in self.fidelity if r is not None]
        return {
            "landmarks_per_class": self.landmarks,
            "fidelity_r2": float(np.mean(known)) if known else None,
            "fidelity_r2_per_class": self.fidelity,
        }


def _isomap(x: Array, size: int) -> Array:
    with warnings.catch_warnings():
        # A graph in parts is joined by its shortest missing edges, which scikit-learn announces.
        warnings.simplefilter("ignore")
        isomap = Isomap(n_neighbors=min(NEIGHBOURS, len(x) - 1), n_components=size)
        return np.asarray(isomap.fit_transform(x), np.float64)


def _squares(x: Array, centres: Array) -> Array:
    """Squared distances (n, m)."""
    return np.stack([np.square(x - c).sum(axis=1) for c in centres], axis=1)


def _applied(x: Array, centres: Array, weight: Array, bias: Array) -> Array:
    return np.asarray(_squares(x, centres) @ weight.T + bias)
