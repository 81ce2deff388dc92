"""The formats of models that run, each with its interpreter."""

from __future__ import annotations

from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from edgemon.runtime.classifier import Classifier
from edgemon.runtime.errors import BackendError
from edgemon.runtime.onnx_classifier import OnnxClassifier
from edgemon.runtime.tflite_classifier import DEFAULT_KERNELS, TfliteClassifier


@dataclass(frozen=True)
class ModelFormat:
    """``identifier``: what a file has at byte 4; empty for the format that has none there."""

    suffix: str
    identifier: bytes
    classifier: type[TfliteClassifier | OnnxClassifier]

    @property
    def in_bundle(self) -> str:
        """Name of the model's file in a bundle."""
        return f"model.tapped{self.suffix}"


TFLITE = ModelFormat(".tflite", b"TFL3", TfliteClassifier)
ONNX = ModelFormat(".onnx", b"", OnnxClassifier)
FORMATS = (TFLITE, ONNX)  # the one without an identifier last
MODELS = tuple(found.in_bundle for found in FORMATS)  # a bundle has one of them


def open_classifier(
    model: Path, *, threads: int = 1, kernels: str = DEFAULT_KERNELS, content: bytes | None = None
) -> Classifier:
    """The classifier in a file, by its content. ``kernels``: one of the format's ``kernel_sets``.
    ``content``: of the file, where it has been read; then it is not read again.

    Raises BackendError if the file cannot be read, or the kernels cannot run it.
    """
    try:
        with model.open("rb") if content is None else BytesIO(content) as file:
            head = file.read(8)
    except OSError as error:
        raise BackendError(f"{model}: cannot be read: {error.strerror}") from None
    return format_of(head).classifier(model, threads=threads, kernels=kernels, content=content)


def format_of(content: bytes) -> ModelFormat:
    """The format of a model, by the first bytes of its file."""
    return next(f for f in FORMATS if content[4:8].startswith(f.identifier))


def model_file(folder: Path) -> Path:
    """The model of a bundle; the usual name if there is none."""
    found = (folder / name for name in MODELS)
    return next((path for path in found if path.is_file()), folder / MODELS[0])
