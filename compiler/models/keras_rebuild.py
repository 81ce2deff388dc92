"""Models that Keras 2 saved as HDF5, rebuilt layer by layer.

Keras 3 loads many of them wrongly or not at all: it takes ``batch_input_shape`` for the shape of
one sample, and refuses settings that layers no longer have. So the stored ``model_config`` is
written anew as Keras 3 wants it, and the weights are set by layer and name.
"""

from __future__ import annotations

import inspect
import json
from typing import Any

import keras
import numpy as np

_MODELS = {"Sequential": keras.Sequential, "Functional": keras.Model, "Model": keras.Model}
# Settings that say how to train or how to compute, not what.
_WITHOUT_MEANING = {
    "batch_input_shape", "build_input_shape", "implementation", "input_dtype", "ragged", "sparse",
    "renorm_clipping", "renorm_momentum", "fused",
}  # fmt: skip
_TRAINING = ("_initializer", "_regularizer", "_constraint")
_ANY_LAYER = {"name", "dtype", "trainable"}
_OFF: tuple[Any, ...] = (None, False, 1, [], {})


class NotSupportedError(Exception):
    """A model that this cannot rebuild; the text ends a sentence."""


def is_legacy(file: Any) -> bool:
    """Did Keras 1 or 2 write this HDF5 file (h5py.File)? Raises NotSupportedError without a model
    in it."""
    if "model_config" not in file.attrs:
        raise NotSupportedError(
            "it holds no model_config, perhaps weights only; save the whole model"
        )
    return not _text(file.attrs.get("keras_version", "1")).startswith("3")


def rebuild(file: Any) -> Any:
    """The model in an HDF5 file (h5py.File) with its weights."""
    stored = json.loads(_text(file.attrs["model_config"]))
    kind = stored["class_name"]
    if kind not in _MODELS:
        raise NotSupportedError(f"it is a {kind}; convert it to TFLite yourself")
    config = stored["config"]
    if isinstance(config, list):  # Keras 1 and early Keras 2
        config = {"name": "sequential", "layers": config}
    layers = [_layer(layer) for layer in config["layers"]]
    if kind == "Sequential":
        model = _sequential(config["layers"], layers)
    else:
        model = _made("Functional", {**config, "layers": layers}, "keras.src.models.functional")
    _set_weights(model, file["model_weights"])
    return model


def _sequential(stored: list[Any], layers: list[Any]) -> Any:
    first = stored[0]["config"]
    shape = first.get("batch_input_shape") or first.get("batch_shape")
    if shape is None:
        raise NotSupportedError("its input has no shape; build the model before you save it")
    if layers[0]["class_name"] == "InputLayer":
        layers = layers[1:]
    entry = keras.Input(shape=shape[1:], dtype=_dtype(first.get("dtype")) or "float32")
    made = (_made(layer["class_name"], layer["config"], "keras.layers") for layer in layers)
    return keras.Sequential([entry, *made])


def _made(kind: str, config: dict[str, Any], module: str) -> Any:
    whole = {"module": module, "class_name": kind, "config": config, "registered_name": kind}
    return keras.saving.deserialize_keras_object(whole, safe_mode=True)


def _layer(stored: dict[str, Any]) -> dict[str, Any]:
    """A layer's configuration with the settings that its class has today."""
    kind, config = stored["class_name"], stored["config"]
    cls = getattr(keras.layers, kind, None)
    if cls is None or "layers" in config or "layer" in config:
        raise NotSupportedError(
            f"its layer {config.get('name')!r} is a {kind}, which edgemon cannot rebuild; load the "
            "model where it was made and convert it to TFLite yourself"
        )
    if kind == "InputLayer":
        shape = config.get("batch_input_shape") or config.get("batch_shape")
        kept = {"batch_shape": shape, "dtype": _dtype(config.get("dtype")), "name": config["name"]}
        return {**stored, "config": kept}
    known = {*_ANY_LAYER, *inspect.signature(cls.__init__).parameters}
    kept = {}
    for key, value in config.items():
        if key in _WITHOUT_MEANING or key.endswith(_TRAINING):
            continue
        if key in known:
            kept[key] = _setting(key, value)
        elif value not in _OFF:
            raise NotSupportedError(
                f"its layer {config.get('name')!r} has {key}={value!r}, which Keras "
                f"{keras.__version__} does not know"
            )
    return {**stored, "config": kept}


def _setting(key: str, value: Any) -> Any:
    if key == "dtype":
        return _dtype(value)
    if key == "axis" and isinstance(value, list) and len(value) == 1:
        return value[0]
    return value


def _dtype(value: Any) -> Any:
    """ "float32", of a name or of a stored policy."""
    return value["config"]["name"] if isinstance(value, dict) else value


def _set_weights(model: Any, stored: Any) -> None:
    """By layer and by the last part of the name, "kernel:0"."""
    for layer in model.layers:
        group = stored.get(layer.name)
        names = [] if group is None else [_text(n) for n in group.attrs["weight_names"]]
        found = {name.split("/")[-1].split(":")[0]: np.asarray(group[name]) for name in names}
        wanted = {v.path.split("/")[-1]: v for v in layer.weights if "seed" not in v.path}
        if found.keys() != wanted.keys():
            raise NotSupportedError(
                f"its layer {layer.name!r} needs the weights {', '.join(wanted) or 'none'}, but "
                f"the file has {', '.join(found) or 'none'}"
            )
        for name, variable in wanted.items():
            if tuple(variable.shape) != found[name].shape:
                raise NotSupportedError(
                    f"the weight {name!r} of its layer {layer.name!r} has the shape "
                    f"{found[name].shape}, not {tuple(variable.shape)}"
                )
            variable.assign(found[name])


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
