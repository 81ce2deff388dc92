"""The child process in which a Keras model is attacked; see ``compiler.models.worker``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.faults import attacks
from edgemon.compiler.models import worker
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input

Floats = npt.NDArray[np.float64]
BLOCK = 100  # images at a time


def attack(job: dict[str, Any]) -> dict[str, Any]:
    """Write the attacked images to ``job["files"]["out"]``."""
    from edgemon.compiler.models.keras_conversion import load

    files, name = job["files"], job["attack"]
    x = np.load(files["x"]).astype(np.float64)
    labels = np.load(files["labels"])
    start = np.load(files["start"]) if name == "pgd" else None
    model = KerasGradient(
        load(Path(job["model"])), Preprocess.from_json(job["preprocess"]), x.shape[1:]
    )
    out = np.empty_like(x)
    for first in range(0, len(x), BLOCK):
        part = slice(first, first + BLOCK)
        if name == "fgsm":
            out[part] = attacks.fgsm(model, x[part], labels[part], job["severity"])
        elif start is not None:
            out[part] = attacks.pgd(model, x[part], labels[part], job["severity"], start[part])
        else:
            out[part] = attacks.as_bytes(model, x[part], attacks.deepfool(model, x[part]))
    np.save(files["out"], out)
    return {"rows": len(x)}


class KerasGradient:
    """The logits of a Keras model and their gradient by the pixels. The preprocessing is affine in
    each value: two images tell how."""

    def __init__(self, model: Any, preprocess: Preprocess, shape: tuple[int, ...]) -> None:
        self._model = _before_softmax(model)
        spec = InputSpec("input", shape, "float32")
        ends = [to_input(np.full(shape, v, np.uint8), preprocess, spec).reshape(shape)
                for v in (0, 255)]  # fmt: skip
        self._offset = ends[0].astype(np.float64)
        self._scale = (ends[1] - self._offset) / 255

    def logits(self, x: Floats) -> Floats:
        """As ``attacks.Gradient`` has it."""
        found: Floats = self._model(self._given(x), training=False).numpy().astype(np.float64)
        return found

    def of(self, x: Floats, weights: Floats) -> Floats:
        """As ``attacks.Gradient`` has it."""
        import tensorflow as tf

        given = tf.constant(self._given(x))
        with tf.GradientTape() as tape:
            tape.watch(given)
            total = tf.reduce_sum(self._model(given, training=False) * weights.astype(np.float32))
        found: Floats = tape.gradient(total, given).numpy().astype(np.float64) * self._scale
        return found

    def _given(self, x: Floats) -> npt.NDArray[np.float32]:
        return (x * self._scale + self._offset).astype(np.float32)


def _before_softmax(model: Any) -> Any:
    """The same model that gives logits: a softmax that is sure has no gradient in float32."""
    import tensorflow as tf

    last = model.layers[-1]
    if isinstance(last, tf.keras.layers.Softmax):
        return tf.keras.Model(model.inputs, last.input)
    if getattr(last, "activation", None) is tf.keras.activations.softmax:
        last.activation = tf.keras.activations.linear
    return model


worker.TASKS["attack"] = attack

if __name__ == "__main__":
    sys.exit(worker.main())
