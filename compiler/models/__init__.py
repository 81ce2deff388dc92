"""Front ends: open a trained classifier, choose the tensors to monitor, run it elsewhere.

Models are untrusted: compile, verify and inspect run them in worker processes only.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models.selection import WHOLE, Selection

if TYPE_CHECKING:
    from edgemon.compiler.models.model import Model

ZIP = b"PK\x03\x04"
SAVED_MODEL = "saved_model.pb"
PROTOBUF = b"\x08"  # an ONNX file begins with its version, as field 1
READABLE = "a .tflite, .onnx, .keras or .h5 file, or a SavedModel folder"


def open_model(path: Path, scratch: Path, selection: Selection = WHOLE) -> Model:
    """The classifier in a file, by its content; a Keras model is converted in ``scratch``.
    ``selection``: which output, and values for further inputs.

    Raises ModelError in one sentence: missing, unknown, damaged, or impossible to run.
    """
    # Each front end has its own heavy imports, and workers need none of them.
    from edgemon.compiler.models.keras import HDF5, open_keras
    from edgemon.compiler.models.model import read_file
    from edgemon.compiler.models.tflite_model import IDENTIFIER, TfliteModel

    if (path / SAVED_MODEL).is_file():
        return open_keras(path, scratch, selection)
    head = read_file(path, READABLE)[:8]
    if head[4:] == IDENTIFIER:
        return TfliteModel.open(path, scratch, selection)
    if head == HDF5 or (head.startswith(ZIP) and _is_keras_zip(path)):
        return open_keras(path, scratch, selection)
    if path.suffix.lower() == ".onnx" or head.startswith(PROTOBUF):
        from edgemon.compiler.models.onnx_model import OnnxModel

        return OnnxModel.open(path, scratch, selection)
    if path.suffix.lower() == ".tflite":
        return TfliteModel.open(path, scratch, selection)  # which says what is wrong with it
    raise ModelError(f"{path}: is no model that edgemon reads; give {READABLE}")


def is_model(path: Path) -> bool:
    """A file, or a SavedModel folder; other folders are bundles."""
    return not path.is_dir() or (path / SAVED_MODEL).is_file()


def _is_keras_zip(path: Path) -> bool:
    """A zip with a config.json. Raises ModelError for a damaged one."""
    try:
        with zipfile.ZipFile(path) as archive:
            return "config.json" in archive.namelist()
    except zipfile.BadZipFile:
        raise ModelError(f"{path}: is a damaged zip archive; save the model again") from None


def write_untapped(tapped: Path, outputs: int, out: Path) -> None:
    """Write a tapped model as it was: with its first ``outputs`` outputs only."""
    content = tapped.read_bytes()
    if tapped.suffix == ".onnx":
        from edgemon.compiler.models.onnx_graph import keep_outputs
    else:
        from edgemon.compiler.models.flatbuffer import keep_outputs
    out.write_bytes(keep_outputs(content, outputs))
