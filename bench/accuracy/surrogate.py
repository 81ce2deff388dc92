"""A small network that stands for one whose gradient is not to be had: attacks on it are carried
over to the model that runs (Papernot et al., "Transferability in machine learning", 2016)."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier
from threadpoolctl import threadpool_limits

Floats = npt.NDArray[np.float64]

HIDDEN, EPOCHS, MOST_ROWS = 256, 20, 20_000


class Surrogate:
    """One hidden ReLU layer on bytes (n, H, W, C), as ``faults.attacks.Gradient`` has it."""

    def __init__(self, images: npt.NDArray[np.uint8], labels: npt.NDArray[np.int64], seed: int):
        rows = images[:MOST_ROWS].reshape(len(images[:MOST_ROWS]), -1) / 255 - 0.5
        network = MLPClassifier((HIDDEN,), max_iter=EPOCHS, random_state=seed, batch_size=256)
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # so many epochs are enough
            network.fit(rows.astype(np.float32), labels[:MOST_ROWS])
        self.classes: npt.NDArray[np.int64] = network.classes_
        self.accuracy = float(network.score(rows.astype(np.float32), labels[:MOST_ROWS]))
        self._weights: list[Any] = network.coefs_
        self._biases: list[Any] = network.intercepts_

    def logits(self, x: Floats) -> Floats:
        """(n, classes)."""
        found: Floats = np.maximum(self._hidden(x), 0) @ self._weights[1] + self._biases[1]
        return found

    def of(self, x: Floats, weights: Floats) -> Floats:
        """(n, H, W, C): the gradient of the logits' sum, weighted (n, classes)."""
        back = (weights @ self._weights[1].T) * (self._hidden(x) > 0)
        found: Floats = (back @ self._weights[0].T / 255).reshape(x.shape)
        return found

    def _hidden(self, x: Floats) -> Floats:
        found: Floats = (x.reshape(len(x), -1) / 255 - 0.5) @ self._weights[0] + self._biases[0]
        return found
