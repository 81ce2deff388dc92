"""The kinds of models that edgemon can read: one row each, that says all that differs by kind."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models.selection import WHOLE, Selection
from edgemon.runtime.formats import ONNX, TFLITE, ModelFormat

if TYPE_CHECKING:
    from edgemon.compiler.models.model import Model

HDF5 = b"\x89HDF\r\n\x1a\n"
ZIP = b"PK\x03\x04"
PROTOBUF = b"\x08"  # an ONNX file begins with its version, as field 1
SAVED_MODEL = "saved_model.pb"
CONVERSIONS = ("float", "int8")  # what a Keras model becomes, of TFLite
HEAD = 8  # bytes of a file that tell its kind


@dataclass(frozen=True)
class FrontEnd:
    """``recognises``: is a file with these first bytes, or a folder (without any), of this kind?
    ``runs_as``: the format of the model in the bundle.

    ``opener`` (path, scratch, selection) -> Model and ``keep_outputs`` (content, count) -> bytes
    are "module:name" in this package, imported on use: workers and ``--help`` need none of what
    they import."""

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Path, bytes], bool]
    opener: str
    keep_outputs: str
    runs_as: ModelFormat


def is_keras(path: Path, head: bytes) -> bool:
    """Is it a Keras file, or a SavedModel? Raises ModelError for a damaged zip archive."""
    if path.is_dir():
        return (path / SAVED_MODEL).is_file()
    if not head.startswith(ZIP):
        return head.startswith(HDF5)
    try:
        with zipfile.ZipFile(path) as archive:
            return "config.json" in archive.namelist()
    except zipfile.BadZipFile:
        raise ModelError(f"{path}: is a damaged zip archive; save the model again") from None


# The first row that recognises the content opens it, else the row of the suffix. The weakest
# identifier is last.
FRONT_ENDS = (
    FrontEnd(
        "TFLite", (TFLITE.suffix,), lambda _, head: head[4:] == TFLITE.identifier,
        "tflite_model:TfliteModel.open", "tflite_edit:keep_outputs", TFLITE,
    ),
    FrontEnd(
        "Keras", (".keras", ".h5"), is_keras,
        "keras:open_keras", "tflite_edit:keep_outputs", TFLITE,
    ),
    FrontEnd(
        "ONNX", (ONNX.suffix,), lambda _, head: head.startswith(PROTOBUF),
        "onnx_model:OnnxModel.open", "onnx_edit:keep_outputs", ONNX,
    ),
)  # fmt: skip
*_MOST, _LAST = (suffix for row in FRONT_ENDS for suffix in row.suffixes)
READABLE = f"a {', '.join(_MOST)} or {_LAST} file, or a SavedModel folder"


def open_model(path: Path, scratch: Path, selection: Selection = WHOLE) -> Model:
    """The classifier in a file, by its content; a Keras model is converted in ``scratch``.
    ``selection``: which output, and values for further inputs.

    Raises ModelError in one sentence: missing, unknown, damaged, or impossible to run.
    """
    model: Model = _called(front_end(path).opener, path, scratch, selection)
    return model


def front_end(path: Path) -> FrontEnd:
    """Which one opens it. Raises ModelError if none does."""
    head = b"" if (path / SAVED_MODEL).is_file() else read_file(path, READABLE, HEAD)
    rows = [row for row in FRONT_ENDS if row.recognises(path, head)]
    rows += [row for row in FRONT_ENDS if path.suffix.lower() in row.suffixes]
    if not rows:
        raise ModelError(f"{path}: is not a model that edgemon can read; give {READABLE}")
    return rows[0]


def is_model(path: Path) -> bool:
    """A file, or a SavedModel folder; other folders are bundles."""
    return not path.is_dir() or (path / SAVED_MODEL).is_file()


def write_untapped(tapped: Path, outputs: int, out: Path) -> None:
    """Write a tapped model as it was: with its first ``outputs`` outputs only."""
    row = next(row for row in FRONT_ENDS if row.runs_as.suffix == tapped.suffix)
    out.write_bytes(_called(row.keep_outputs, tapped.read_bytes(), outputs))


def read_file(path: Path, wanted: str, most: int = -1) -> bytes:
    """The content, or its first ``most`` bytes. Raises ModelError; ``wanted`` says what to give
    instead."""
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "does not exist"
        raise ModelError(f"{path}: {what}; give {wanted}")
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None


def _called(name: str, *arguments: object) -> Any:
    return resolve_name(f"edgemon.compiler.models.{name}")(*arguments)
