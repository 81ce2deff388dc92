"""Trains the demonstration model and writes its data.

    pip install 'edgemon[train-demo]' && python bench/demo/train.py

Writes beside itself:

* ``digits_int8.tflite``: int8, input (8, 8, 1) with pixel values 0..16, 8 classes (digits 0-7);
* ``digits.npz``: digits 0-7 that the model was NOT trained on, x (n, 8, 8, 1) uint8, y (n,);
* ``novelty.npz``: digits 8 and 9, which the model has never seen; y is 8 or 9.

The training set is kept small on purpose: a demonstration of monitors needs a model that errs.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

HERE = Path(__file__).parent
SEED = 0
TRAINING_ROWS = 48
KNOWN = 8  # digits below this are classes, the others novelty


def main() -> None:
    tf.keras.utils.set_random_seed(SEED)
    digits = load_digits()
    x = digits.images.astype(np.uint8)[..., None]
    y = digits.target.astype(np.uint8)
    order = np.random.default_rng(SEED).permutation(len(x))
    x, y = x[order], y[order]
    known = y < KNOWN
    train = np.flatnonzero(known)[:TRAINING_ROWS]
    rest = np.flatnonzero(known)[TRAINING_ROWS:]

    model = tf.keras.Sequential(
        [
            tf.keras.layers.Input((8, 8, 1), batch_size=1),
            tf.keras.layers.Rescaling(1 / 16),
            tf.keras.layers.Conv2D(24, 3, padding="same", activation="relu"),
            tf.keras.layers.Conv2D(48, 3, padding="same", activation="relu"),
            tf.keras.layers.MaxPooling2D(2),
            tf.keras.layers.Flatten(),
            tf.keras.layers.Dense(32, activation="relu"),
            tf.keras.layers.Dense(KNOWN),
            tf.keras.layers.Softmax(),
        ]
    )
    model.compile(tf.keras.optimizers.Adam(2e-3), "sparse_categorical_crossentropy")
    images = x[train].astype(np.float32)
    data = tf.data.Dataset.from_tensor_slices((images, y[train])).repeat(15)
    model.fit(data.batch(1), verbose=0)

    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.representative_dataset = lambda: ([image[None]] for image in images)
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS_INT8]
    converter.inference_input_type = converter.inference_output_type = tf.int8
    (HERE / "digits_int8.tflite").write_bytes(converter.convert())
    np.savez_compressed(HERE / "digits.npz", x=x[rest], y=y[rest])
    np.savez_compressed(HERE / "novelty.npz", x=x[~known], y=y[~known])


if __name__ == "__main__":
    main()
