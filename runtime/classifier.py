"""A classifier to run: what every interpreter gives."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, ClassVar

import numpy.typing as npt

from edgemon.runtime.errors import BackendError
from edgemon.runtime.preprocess import InputSpec


class Classifier(ABC):
    """One model, one image at a time, on one thread unless told otherwise. ``content``: of the
    file, where it has been read; then it is not read again. Raises BackendError if the model cannot
    be used."""

    n_outputs: int
    output_names: tuple[str, ...]
    runs: ClassVar[str]  # the kind of model, such as "an ONNX model"
    kernel_sets: ClassVar[Collection[str]]  # the first is taken unless told otherwise

    def __init__(self, model: Path, kernels: str, content: bytes | None) -> None:
        self._model = model
        if kernels not in self.kernel_sets:
            raise BackendError(
                f"{model}: kernels {kernels!r} cannot run {self.runs}; "
                f"use {', '.join(self.kernel_sets)}"
            )
        if content is None and not model.is_file():
            raise BackendError(f"{model}: no such file")

    @property
    @abstractmethod
    def input(self) -> InputSpec:
        """The single input. Raises BackendError if the model has several."""

    @property
    @abstractmethod
    def entries(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Dtype and shape of every input."""

    @abstractmethod
    def invoke(self, x: npt.NDArray[Any], *more: npt.NDArray[Any]) -> None:
        """Run the model on one input tensor, as ``preprocess.to_input`` makes it, and on those of
        its other inputs, if it has any. Raises InputError for one that does not fit."""

    @abstractmethod
    def invoke_zeros(self) -> None:
        """Run the model on zeros in every input."""

    @abstractmethod
    def view(self, position: int) -> npt.NDArray[Any]:
        """The output, or at ``INPUT`` the input, flat, in memory that the next ``invoke``
        overwrites: drop it before."""

    def reader(self, position: int) -> Callable[[], npt.NDArray[Any]]:
        """What gives ``view`` again and again, in any shape, at the least cost."""
        return lambda: self.view(position)

    def output(self, position: int) -> npt.NDArray[Any]:
        """A copy of it."""
        return self.view(position).copy()

    @staticmethod
    @abstractmethod
    def backend() -> str:
        """Name and version of the package that runs it, such as "onnxruntime 1.32.0"."""

    def _require_one_input(self, n_inputs: int) -> None:
        if n_inputs != 1:
            raise BackendError(f"{self._model}: the model has {n_inputs} inputs, not one")

    def _failure(self, reason: str) -> BackendError:
        return BackendError(f"{self._model}: the model fails to run: {reason}")


def first_line(error: Exception) -> str:
    """The first line of an interpreter's message that has any text."""
    lines = (line.strip() for line in str(error).splitlines())
    return next(filter(None, lines), "no reason given")
