"""Taps as a classifier gives them: of one inference an image, or of two."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt

from edgemon.runtime.classifier import Classifier
from edgemon.runtime.mirror import MIRROR, mirrored, width_axis
from edgemon.runtime.preprocess import InputSpec, Preprocess

Array = npt.NDArray[Any]


class TapReader:
    """A classifier and the outputs to read after an image (or ``preprocess.INPUT``): of its
    inference, and where ``views`` say so of a second one, on the mirrored image."""

    def __init__(
        self, classifier: Classifier, positions: Sequence[int], views: Sequence[str],
        spec: InputSpec, preprocess: Preprocess,
    ) -> None:  # fmt: skip
        """Raises InputError if a tap is of the mirrored image, and the input cannot be mirrored."""
        self._classifier = classifier
        self._positions = tuple(positions)
        self._mirrored = tuple(view == MIRROR for view in views)
        self._readers = [classifier.reader(position) for position in positions]
        # Of the input tensor; 0, the batch axis, where there is no second inference.
        self.mirror_axis = width_axis(spec, preprocess) if any(self._mirrored) else 0

    def read(self, x: Array) -> list[Array]:
        """The taps of one input tensor, flat. Plain taps lie in the classifier's own memory: drop
        them before the next image.

        The mirrored image goes first, so that the outputs in that memory are the answer to the
        image itself.
        """
        kept: list[Array | None] = [None] * len(self._positions)
        if self.mirror_axis:
            self._classifier.invoke(mirrored(x, self.mirror_axis))
            for i, position in enumerate(self._positions):
                if self._mirrored[i]:
                    kept[i] = self._classifier.output(position)
        self._classifier.invoke(x)
        return [
            self._classifier.view(position) if values is None else values
            for position, values in zip(self._positions, kept, strict=True)
        ]

    def shaped(self, x: Array) -> list[Array]:
        """As ``read``, each tap in the shape of its tensor."""
        if self.mirror_axis:
            return self.read(x)
        self._classifier.invoke(x)
        return [reader() for reader in self._readers]

    def copy(self, x: Array, out: Sequence[Array]) -> None:
        """The taps of one input tensor, each into a flat array of its type."""
        for values, tap in zip(out, self.read(x), strict=True):
            values[...] = tap
