"""The step of a companion against the gradient that TensorFlow takes of the same network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from edgemon.compiler.models import open_model
from edgemon.compiler.monitors import MONITORS
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import Preprocess
from tests.compiler.models.tensorflow_marks import NEEDS_TENSORFLOW

pytestmark = NEEDS_TENSORFLOW
TEMPERATURE = 1000.0


def network() -> Any:
    """Blocks as of MobileNet with gates, then pools, joined branches and a dense layer."""
    import tensorflow as tf

    layers, keras = tf.keras.layers, tf.keras
    keras.utils.set_random_seed(5)
    entry = keras.Input((16, 16, 3))
    x = layers.ZeroPadding2D(((0, 1), (0, 1)))(entry)
    x = layers.Conv2D(6, 3, 2, use_bias=False)(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    for stride in (1, 2):
        y = layers.Conv2D(12, 1, activation="swish")(x)
        y = layers.ReLU(6.0)(layers.DepthwiseConv2D(3, stride, "same")(y))
        gate = layers.GlobalAveragePooling2D(keepdims=True)(y)
        y = layers.Multiply()([y, layers.Conv2D(12, 1, activation="sigmoid")(gate)])
        y = layers.Conv2D(6, 1)(y)
        x = layers.Add()([x, y]) if stride == 1 else y
    x = layers.Concatenate()([layers.MaxPooling2D(2)(x), layers.AveragePooling2D(2)(x)])
    x = layers.Dense(9, activation="tanh")(layers.Flatten()(layers.LeakyReLU()(x)))
    return keras.Model(entry, layers.Dense(5)(layers.Dropout(0.5)(x)))


def test_the_step_goes_where_tensorflows_gradient_points(tmp_path: Path) -> None:
    import tensorflow as tf

    keras_model, path = network(), tmp_path / "model.keras"
    keras_model.save(path)
    model = open_model(path, tmp_path)
    content = MONITORS["odin"](eps=0.01, white=1.0).companion(model, Preprocess())
    assert content is not None
    step = open_classifier(Path("x.tflite"), threads=1, kernels="xnnpack", content=content)
    rng = np.random.default_rng(0)
    for _ in range(10):
        x = rng.uniform(-1, 1, (1, 16, 16, 3)).astype(np.float32)
        with tf.GradientTape() as tape:
            watched = tf.constant(x)
            tape.watch(watched)
            z = keras_model(watched, training=False)[0]
            confidence = tf.nn.log_softmax(z / TEMPERATURE)[int(tf.argmax(z))]
        gradient = tape.gradient(confidence, watched).numpy()
        step.invoke(x)
        moved = step.output(0).reshape(x.shape) - x
        clear = np.abs(gradient) > 1e-3 * np.abs(gradient).max()  # elsewhere the last bits decide
        assert clear.mean() > 0.9
        assert (np.sign(moved) == np.sign(gradient))[clear].all()
