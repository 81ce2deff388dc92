"""From Keras to TFLite, with TensorFlow: the worker's part of the front end."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import numpy as np
import tensorflow as tf

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.models import keras_config, keras_layers, keras_rebuild, saved_model
from edgemon.runtime.errors import BackendError
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input

_LACKING = re.compile(r"'tf\.(\w+)' op is neither a custom op nor a flex op")
_PLACES = re.compile(r"<unknown>:0: |error: |loc\(.*\)\)+: ?")  # of MLIR; they say nothing outside


def convert(job: dict[str, Any]) -> dict[str, Any]:
    """Write ``job["model"]`` as TFLite to ``job["out"]``, int8 if there are representative rows.
    The answer tells what was changed besides.

    Raises BackendError with the reason if TensorFlow cannot open or convert it.
    """
    path = Path(job["model"])
    representative = job.get("representative")
    if path.is_dir():
        saved_model.require_pure(path)
        return _written(job, lambda: _of_folder(path, representative), [])
    model = load(path)
    _require_fixed(path, model)
    changed = keras_layers.in_float32(model)
    if representative is not None:
        changed += keras_layers.unrolled(model)
    return _written(job, _alone(path, model, representative).convert, changed)


def _written(job: dict[str, Any], make: Callable[[], bytes], changed: list[str]) -> dict[str, Any]:
    content = _checked(Path(job["model"]), "cannot be converted to TFLite", make)
    Path(job["out"]).write_bytes(content)
    return {"by": f"TensorFlow {tf.__version__}", "changed": changed}


def load(path: Path) -> Any:
    """The Keras model in a file. Raises BackendError if it is damaged or unknown to Keras, or
    brings code of its own."""
    keras_config.require_own(path)
    if h5py.is_hdf5(path):
        try:
            with h5py.File(path) as file:
                if keras_rebuild.is_legacy(file):
                    return keras_rebuild.rebuild(file)
        except keras_rebuild.NotSupportedError as error:
            raise BackendError(f"{path}: cannot be rebuilt: {error}") from None
        except (OSError, KeyError, ValueError, TypeError, RuntimeError) as error:
            raise BackendError(f"{path}: is damaged: {_reason(error)}") from None
    return _checked(
        path, "Keras cannot load it",
        lambda: tf.keras.models.load_model(path, compile=False, safe_mode=True),
    )  # fmt: skip


def _require_fixed(path: Path, model: Any) -> None:
    """Raises BackendError unless the model knows its inputs, and their shapes but for the batch."""
    inputs = getattr(model, "inputs", None) if model.built else None
    if not inputs:
        raise BackendError(
            f"{path}: it was saved before it was built, so its input has no shape; begin it with "
            "keras.Input(shape), or call it once, and save it again"
        )
    for entry in inputs:
        if None in entry.shape[1:]:
            shape = ", ".join("?" if n is None else str(n) for n in entry.shape[1:])
            raise BackendError(
                f"{path}: its input {entry.name!r} is open, ({shape}); a device needs one size: "
                "build the same layers on keras.Input of that size, take over the weights with "
                "set_weights, and save it again"
            )


def _alone(path: Path, model: Any, representative: dict[str, Any] | None) -> Any:
    """A converter of the model with a batch of one, as on the device: an open batch leaves chains
    of SHAPE and RESHAPE."""
    entries = [
        tf.keras.Input(batch_shape=(1, *i.shape[1:]), dtype=i.dtype, name=_plain(i.name))
        for i in model.inputs
    ]
    alone = _checked(
        path, "cannot be run", lambda: tf.keras.Model(entries, model(_one_or_all(entries)))
    )
    return _set(tf.lite.TFLiteConverter.from_keras_model(alone), representative)


def _of_folder(path: Path, representative: dict[str, Any] | None) -> bytes:
    """TFLite of a SavedModel. What TensorFlow's loader cannot restore, such as the optimizer of a
    model that Keras 2 trained, its converter of version 1 leaves alone."""
    try:
        return bytes(
            _set(tf.lite.TFLiteConverter.from_saved_model(str(path)), representative).convert()
        )
    except Exception as error:
        first = error
    try:
        old = tf.compat.v1.lite.TFLiteConverter.from_saved_model(str(path))
        return bytes(_set(old, representative).convert())
    except Exception:
        raise first from None


def _set(converter: Any, representative: dict[str, Any] | None) -> Any:
    if representative is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: _inputs(representative)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    return converter


def _plain(name: str) -> str:
    return re.sub(r"\W", "_", name)


def _one_or_all(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _inputs(representative: dict[str, Any]) -> Iterator[list[Any]]:
    preprocess = Preprocess.from_json(representative["preprocess"])
    spec = InputSpec.from_json(representative["input"])
    x = RowFile.open(Path(representative["x"]))
    rows = RowFile.open(Path(representative["rows"]))
    for row in rows.read(np.arange(len(rows))):
        yield [to_input(x.read(np.array([row]))[0], preprocess, spec)]


def _checked(path: Path, problem: str, work: Callable[[], Any]) -> Any:
    try:
        return work()
    except Exception as error:  # Keras and the converter raise anything at all
        raise BackendError(f"{path}: {problem}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """One line of what TensorFlow says, which may be pages."""
    text = str(error)
    lacking = sorted({*_LACKING.findall(text)})
    if lacking:
        hint = (
            "; random layers, as for augmentation, are for training: export the model without "
            "them, or give the .keras file"
        )
        random = any("Random" in name for name in lacking)
        return f"TFLite has no operator for TensorFlow's {', '.join(lacking)}{hint * random}"
    if "'tf.TensorList" in text:
        return (
            "TFLite has no form of the recurrent layers of this SavedModel, whose batch is open; "
            "save the model as .keras and give that"
        )
    # Keras nests its reasons, each behind the whole configuration; the last is the first cause.
    text = _PLACES.sub("", text.split("Exception encountered: ")[-1])
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[0].rstrip(".")[:200] if lines else type(error).__name__
