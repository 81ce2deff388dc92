"""From Keras to TFLite, with TensorFlow: the worker's part of the front end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

import h5py
import numpy as np
import tensorflow as tf

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.models import keras_config, keras_rebuild
from edgemon.runtime.errors import BackendError
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input


def convert(job: dict[str, Any]) -> dict[str, Any]:
    """Write ``job["model"]`` as TFLite to ``job["out"]``, int8 if there are representative rows.

    Raises BackendError with the reason if TensorFlow cannot open or convert it.
    """
    path = Path(job["model"])
    converter = _converter(path)
    representative = job.get("representative")
    if representative is not None:
        converter.optimizations = [tf.lite.Optimize.DEFAULT]
        converter.representative_dataset = lambda: _inputs(representative)
        converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
        converter.inference_input_type = converter.inference_output_type = tf.int8
    content = _checked(path, "cannot be converted to TFLite", converter.convert)
    Path(job["out"]).write_bytes(content)
    return {"by": f"TensorFlow {tf.__version__}"}


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
            raise BackendError(f"{path}: is damaged: {_first_line(error)}") from None
    return _checked(
        path, "Keras cannot load it",
        lambda: tf.keras.models.load_model(path, compile=False, safe_mode=True),
    )  # fmt: skip


def _converter(path: Path) -> Any:
    if path.is_dir():
        return _checked(
            path, "TensorFlow cannot load it",
            lambda: tf.lite.TFLiteConverter.from_saved_model(str(path)),
        )  # fmt: skip
    model = load(path)
    # With a batch of one, as on the device: an open batch leaves chains of SHAPE and RESHAPE.
    entries = [tf.keras.Input(batch_shape=(1, *i.shape[1:]), dtype=i.dtype) for i in model.inputs]
    alone = _checked(
        path, "cannot be run", lambda: tf.keras.Model(entries, model(_one_or_all(entries)))
    )
    return tf.lite.TFLiteConverter.from_keras_model(alone)


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
        raise BackendError(f"{path}: {problem}: {_first_line(error)}") from None


def _first_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[0].rstrip(".")[:200] if lines else type(error).__name__
