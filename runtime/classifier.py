"""A classifier to run, TFLite or ONNX: what both can do, and which a file is."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import Any, Protocol

import numpy.typing as npt

from edgemon.runtime.errors import BackendError
from edgemon.runtime.onnx_model import OnnxClassifier
from edgemon.runtime.preprocess import InputSpec
from edgemon.runtime.tflite import Classifier

MODELS = ("model.tapped.tflite", "model.tapped.onnx")  # a bundle has one of them
TFLITE_IDENTIFIER = b"TFL3"


class AnyClassifier(Protocol):
    """One model, one image at a time, on one thread unless told otherwise."""

    n_outputs: int
    output_names: tuple[str, ...]

    @property
    def input(self) -> InputSpec:
        """The single input."""

    def invoke(self, x: npt.NDArray[Any]) -> None:
        """Run the model on one input tensor, as ``preprocess.to_input`` makes it."""

    def invoke_zeros(self) -> None:
        """Run the model on zeros in every input."""

    def view(self, position: int) -> npt.NDArray[Any]:
        """The output, or at ``INPUT`` the input, flat, in memory that the next ``invoke``
        overwrites."""

    def output(self, position: int) -> npt.NDArray[Any]:
        """A copy of it."""

    @staticmethod
    def backend() -> str:
        """Name and version of the package that runs it."""


def open_classifier(
    model: Path, *, threads: int = 1, kernels: str = "xnnpack", content: bytes | None = None
) -> AnyClassifier:
    """The classifier in a file. ``kernels``: see ``tflite.Classifier``, and "onnxruntime" for ONNX.
    ``content``: of the file, where it has been read; then it is not read again.

    Raises BackendError if the file cannot be read, or the kernels cannot run it.
    """
    try:
        with model.open("rb") if content is None else BytesIO(content) as file:
            head = file.read(8)
    except OSError as error:
        raise BackendError(f"{model}: cannot be read: {error.strerror}") from None
    kind = Classifier if head[4:] == TFLITE_IDENTIFIER else OnnxClassifier
    return kind(model, threads=threads, kernels=kernels, content=content)


def model_file(folder: Path) -> Path:
    """The model of a bundle; the usual name if there is none."""
    found = (folder / name for name in MODELS)
    return next((path for path in found if path.is_file()), folder / MODELS[0])
