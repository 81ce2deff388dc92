"""A classifier that is an object, as a file that ``compile`` reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import MissingPackageError, ModelError

TFLITE = b"TFL3"  # behind the first four bytes
PROBABILITIES = "probabilities"  # the output that skl2onnx gives a classifier beside its label


@dataclass(frozen=True, eq=False)
class ModelFile:
    """``output``: the tensor with the class scores, "" where there is one; ``classes``: labels in
    the model's order, None where their numbers are that order."""

    path: Path
    output: str = ""
    classes: npt.NDArray[Any] | None = None


def as_file(model: Any, n_features: int, folder: Path) -> ModelFile:
    """A path as it is; bytes of TFLite or ONNX, an ONNX ``ModelProto``, a Keras model or a fitted
    scikit-learn classifier written to ``folder``. Raises ModelError for anything else."""
    if isinstance(model, str | Path):
        return ModelFile(Path(model))
    if isinstance(model, bytes | bytearray):
        is_tflite = bytes(model[4:8]) == TFLITE
        return ModelFile(_written(folder / ("model.tflite" if is_tflite else "model.onnx"), model))
    if hasattr(model, "SerializeToString"):
        return ModelFile(_written(folder / "model.onnx", model.SerializeToString()))
    if hasattr(model, "classes_") and hasattr(model, "predict_proba"):
        content = _from_sklearn(model, n_features)
        path = _written(folder / f"{type(model).__name__}.onnx", content)
        return ModelFile(path, PROBABILITIES, np.asarray(model.classes_))
    if hasattr(model, "save") and hasattr(model, "layers"):
        path = folder / "model.keras"
        model.save(path)
        return ModelFile(path)
    raise ModelError(
        f"a {type(model).__name__} is no model: give a path, bytes of TFLite or ONNX, an ONNX "
        "ModelProto, a Keras model, or a fitted scikit-learn classifier with predict_proba"
    )


def _from_sklearn(model: Any, n_features: int) -> bytes:
    try:
        from skl2onnx import to_onnx
        from skl2onnx.common.data_types import FloatTensorType
    except ModuleNotFoundError:
        raise MissingPackageError(
            f"a {type(model).__name__} of scikit-learn needs skl2onnx: "
            "pip install 'edgemon[sklearn]'"
        ) from None
    name = type(model).__name__
    try:
        found = to_onnx(
            model, initial_types=[("x", FloatTensorType([None, n_features]))],
            options={id(model): {"zipmap": False}},
        )  # fmt: skip
    except Exception as error:  # converters of many estimators know many errors
        raise ModelError(
            f"skl2onnx cannot convert this {name}: {' '.join(str(error).split())}"
        ) from None
    content: bytes = found.SerializeToString()
    return content


def _written(path: Path, content: bytes | bytearray) -> Path:
    path.write_bytes(content)
    return path
