"""Taps as a classifier and its companions give them: of one inference an image, or of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy.typing as npt

from edgemon.runtime.classifier import Classifier
from edgemon.runtime.companions import Companion
from edgemon.runtime.mirror import mirrored, width_axis
from edgemon.runtime.preprocess import InputSpec, Preprocess
from edgemon.runtime.views import COMPANION, MIRROR, ODIN, SECOND

Array = npt.NDArray[Any]


class TapReader:
    """A classifier and the outputs to read after an image (or ``preprocess.INPUT``): of its
    inference, and where ``views`` say so of further ones (FORMAT.md, section 16)."""

    def __init__(
        self, classifier: Classifier, positions: Sequence[int], views: Sequence[str],
        spec: InputSpec, preprocess: Preprocess, companions: Mapping[str, Companion] | None = None,
    ) -> None:  # fmt: skip
        """``companions``: for each view that needs one, its. Raises InputError if a tap is of the
        mirrored image, and the input cannot be mirrored."""
        self.classifier = classifier
        self._taps = tuple(zip(positions, views, strict=True))
        self.companions = companions or {}
        self._readers = [
            found.reader(position) for found, position in map(self.source, range(len(self._taps)))
        ]
        self.second = tuple(view for view in SECOND if view in views)
        # Of the input tensor; 0, the batch axis, where nothing is mirrored.
        self.mirror_axis = width_axis(spec, preprocess) if MIRROR in views else 0
        self.companion = self.companions[COMPANION] if COMPANION in views else None

    def source(self, tap: int) -> tuple[Classifier, int]:
        """What gives a tap, and at which of its outputs."""
        position, view = self._taps[tap]
        of_companion = view == COMPANION
        return self.companions[view].model if of_companion else self.classifier, position

    def seen(self, view: str, x: Array) -> Array:
        """The input tensor of the classifier's inference in a view of ``second``."""
        if view == MIRROR:
            return mirrored(x, self.mirror_axis)
        perturbing = self.companions[ODIN]
        perturbing.run(x)
        return perturbing.made()

    def read(self, x: Array) -> list[Array]:
        """The taps of one input tensor, flat. Plain taps and those of a companion lie in the
        interpreters' own memory: drop them before the next image.

        The image itself goes last, so that the outputs in the classifier's memory are its answer.
        """
        kept: list[Array | None] = [None] * len(self._taps)
        for view in self.second:
            self.classifier.invoke(self.seen(view, x))
            for i, (position, wanted) in enumerate(self._taps):
                if wanted == view:
                    kept[i] = self.classifier.output(position)
        self._invoke(x)
        return [
            reader().reshape(-1) if values is None else values
            for reader, values in zip(self._readers, kept, strict=True)
        ]

    def shaped(self, x: Array) -> list[Array]:
        """As ``read``, each tap in the shape of its tensor."""
        if self.second:
            return self.read(x)
        self._invoke(x)
        return [reader() for reader in self._readers]

    def _invoke(self, x: Array) -> None:
        self.classifier.invoke(x)
        if self.companion is not None:
            self.companion.run(x, self.classifier.view(0))

    def copy(self, x: Array, out: Sequence[Array]) -> None:
        """The taps of one input tensor, each into a flat array of its type."""
        for values, tap in zip(out, self.read(x), strict=True):
            values[...] = tap
