"""The front end for Keras models: they are converted to TFLite, so that what is monitored is what
is deployed. TensorFlow runs in a child process only."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.errors import MissingPackageError, ModelError
from edgemon.compiler.models import child
from edgemon.compiler.models.front_ends import HDF5, SAVED_MODEL, is_keras, read_file
from edgemon.compiler.models.model import Conversion, Model
from edgemon.compiler.models.selection import WHOLE, Selection
from edgemon.compiler.models.tflite_model import TfliteModel
from edgemon.runtime.preprocess import Preprocess

PATIENCE_S = 900.0  # TensorFlow says nothing while it converts
MOST_REPRESENTATIVES = 2000
VARIABLES = "variables"


def open_keras(path: Path, scratch: Path, selection: Selection = WHOLE) -> TfliteModel:
    """A ``.keras`` or ``.h5`` file or a SavedModel folder as float TFLite, written to
    ``scratch``. Raises ModelError if it is damaged, or TensorFlow is not installed."""
    if not is_keras(path, _begins(path)):
        raise ModelError(f"{path}: is not a Keras model, or it is damaged; save it again")
    return _convert(path, scratch, "float", {}, selection)


def to_int8(
    model: Model, data: Dataset, preprocess: Preprocess, scratch: Path,
    selection: Selection = WHOLE,
) -> TfliteModel:  # fmt: skip
    """A model that came from Keras, as int8 TFLite with int8 input and output; the ranges of its
    tensors are those on ``data``."""
    if selection.inputs:
        raise ModelError(
            f"{model.origin}: --input goes with --convert float only: int8 models are made of data "
            "for all inputs"
        )
    if model.conversion is None:
        raise ModelError(
            f"{model.origin}: is converted already; --convert int8 is for Keras models"
        )
    step = max(1, -(-len(data) // MOST_REPRESENTATIVES))
    rows = RowFile.create(scratch / "representative.npy", (len(data.rows[::step]),), np.int64)
    rows.write(0, data.rows[::step])
    representative = {
        "x": str(data.x),
        "rows": str(rows.path),
        "preprocess": preprocess.to_json(),
        "input": model.input.to_json(),
    }
    more = {"representative": representative}
    first = model.conversion.sha256
    return _convert(model.origin, scratch, "int8", more, selection, first)


def _convert(
    path: Path, scratch: Path, to: str, more: dict[str, Any], selection: Selection,
    first: str | None = None,
) -> TfliteModel:  # fmt: skip
    if find_spec("tensorflow") is None:
        raise MissingPackageError(
            f"{path}: a Keras model needs TensorFlow: pip install 'edgemon[keras]', or convert the "
            "model to TFLite yourself"
        )
    out = scratch / f"converted_{to}.tflite"
    with _own_copy(path, scratch) as copy:
        digest = _sha256(copy)
        if first is not None and digest != first:
            raise ModelError(f"{path}: has changed since it was opened; run the command again")
        (answer,) = child.run(
            [{"task": "convert", "model": str(copy), "out": str(out), **more}],
            subject=str(path),
            silence_s=PATIENCE_S,
        )
    made = Conversion(path, digest, to, answer["by"], tuple(answer["changed"]))
    return TfliteModel.open(out, scratch, selection, conversion=made)


@contextmanager
def _own_copy(path: Path, scratch: Path) -> Iterator[Path]:
    """The model where nobody else writes: what is looked through is what is hashed and loaded.
    Keras tells the formats of files by their names."""
    suffix = "" if path.is_dir() else ".h5" if _begins(path) == HDF5 else ".keras"
    with TemporaryDirectory(dir=scratch) as folder:
        copy = Path(folder) / f"model{suffix}"
        try:
            _copy_folder(path, copy) if path.is_dir() else shutil.copyfile(path, copy)
        except (OSError, shutil.Error) as error:
            why = getattr(error, "strerror", None) or "some of its files are not readable"
            raise ModelError(f"{path}: cannot be copied: {why}") from None
        yield copy


def _copy_folder(path: Path, copy: Path) -> None:
    """The graph and the variables of a SavedModel. What may stand beside them is not for the model:
    other forms of the graph, which TensorFlow would prefer, and files that initialisers read."""
    files = [path / SAVED_MODEL, *(path / VARIABLES).glob("*")]
    for file in files:
        if not file.is_file():
            raise ModelError(f"{path}: its {file.relative_to(path)} is not a file; save it again")
        to = copy / file.relative_to(path)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, to)


def _begins(path: Path) -> bytes:
    return b"" if path.is_dir() else read_file(path, "a Keras model", len(HDF5))


def _sha256(path: Path) -> str:
    """The hash of the file, or of all files of a folder with their names."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    whole = hashlib.sha256()
    for file in sorted(p for p in path.rglob("*") if p.is_file()):
        whole.update(f"{file.relative_to(path)}\0".encode())
        whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()
