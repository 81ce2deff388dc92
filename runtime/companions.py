"""Companions: models beside the classifier, that some views of taps need (FORMAT.md, section 16).

That of the view *odin* makes of the classifier's input another one, on which the classifier runs as
well. That of the view *companion* is itself read: it sees the input, and the classifier's
output if it has a second input. Both are files of a bundle, which the artifact binds by their hash.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy.typing as npt

from edgemon.runtime.classifier import Classifier
from edgemon.runtime.errors import BackendError, DamagedError
from edgemon.runtime.formats import FORMATS, format_of, open_classifier
from edgemon.runtime.monitor import CompanionInfo
from edgemon.runtime.untrusted import read
from edgemon.runtime.views import COMPANION, NEED_COMPANION, ODIN

Array = npt.NDArray[Any]

FILES = tuple(f"{view}{found.suffix}" for view in NEED_COMPANION for found in FORMATS)


class Companion:
    """One that runs, beside a classifier with these inputs and this first output."""

    def __init__(self, view: str, model: Classifier, classifier: Classifier, where: Path) -> None:
        """Raises BackendError unless its inputs are the classifier's, and its output suits."""
        self.view, self.model = view, model
        spec, output = classifier.input, classifier.output(0)
        self._x = spec.tensor_shape
        scores = (str(output.dtype), output.size) if view == COMPANION else None
        self._order = _order((spec.dtype, self._x), scores, model.entries, where)
        model.invoke_zeros()  # an output of dynamic shape has no memory before
        made = model.view(0)
        if view == ODIN and (str(made.dtype), made.size) != (spec.dtype, math.prod(self._x)):
            raise BackendError(
                f"{where}: the companion's output is {made.dtype}[{made.size}], but it is to be an "
                f"input of the model, {spec.dtype} {self._x}"
            )

    @property
    def takes_output(self) -> bool:
        """Is the classifier's output its second input?"""
        return len(self._order) > 1

    def run(self, x: Array, output: Array | None = None) -> None:
        """One inference; ``output``: the classifier's first, flat, for one that takes it."""
        if output is None or not self.takes_output:
            self.model.invoke(x)
            return
        shape = self.model.entries[self._order.index(1)][1]
        both = (x, output.reshape(shape))
        self.model.invoke(*(both[i] for i in self._order))

    def made(self) -> Array:
        """A copy of its first output, in the shape of the classifier's input."""
        return self.model.output(0).reshape(self._x)


def _order(
    x: tuple[str, tuple[int, ...]], scores: tuple[str, int] | None,
    entries: tuple[tuple[str, tuple[int, ...]], ...], where: Path,
) -> tuple[int, ...]:  # fmt: skip
    """What each input of a companion gets: 0 the classifier's input, 1 its output."""
    given = [(dtype, math.prod(shape)) for dtype, shape in entries]
    for order in ((0,), (0, 1), (1, 0)):
        fits = len(order) == len(entries) and entries[order.index(0)] == x
        if fits and (len(order) == 1 or given[order.index(1)] == scores):
            return order
    found = " and ".join(f"{dtype} {shape}" for dtype, shape in entries) or "nothing"
    more = "" if scores is None else f", or that and the model's output, {scores[0]}[{scores[1]}]"
    raise BackendError(
        f"{where}: the companion takes {found}, but is to take the model's input, {x[0]} "
        f"{x[1]}{more}: build it for this model"
    )


def companion_file(folder: Path, view: str) -> Path:
    """The companion of a view in a bundle; the usual name if there is none."""
    found = (folder / f"{view}{known.suffix}" for known in FORMATS)
    return next((path for path in found if path.is_file()), folder / f"{view}{FORMATS[0].suffix}")


def contents(folder: Path, wanted: Iterable[CompanionInfo]) -> dict[str, bytes]:
    """The files of a bundle's companions by their view. Raises DamagedError for one that is
    missing, or not the one that the artifact binds."""
    found = {}
    for info in wanted:
        path = companion_file(folder, info.view)
        try:
            content = read(path)
        except OSError:
            raise DamagedError(
                f"{folder}: lacks {path.name}, a companion model that its monitors need; give the "
                "whole folder that compile wrote"
            ) from None
        if len(content) != info.size or hashlib.sha256(content).hexdigest() != info.sha256:
            raise DamagedError(
                f"{path} is not the companion that the monitor was compiled for (its SHA-256 "
                "differs); compile the bundle again"
            )
        found[info.view] = content
    return found


def opened(
    files: Mapping[str, bytes], classifier: Classifier, *, kernels: str, folder: Path = Path(),
    threads: int = 1,
) -> dict[str, Companion]:  # fmt: skip
    """Companions that run, by their view. ``kernels``: where they can run them; else those that
    their format has first. Raises BackendError."""
    found = {}
    for view, content in files.items():
        known = format_of(content)
        path = folder / f"{view}{known.suffix}"
        sets = tuple(known.classifier.kernel_sets)
        model = open_classifier(
            path, threads=threads, kernels=kernels if kernels in sets else sets[0], content=content
        )
        found[view] = Companion(view, model, classifier, path)
    return found
