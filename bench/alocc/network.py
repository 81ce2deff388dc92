"""The two networks of ALOCC (M. Sabokrou et al., CVPR 2018), small, with the class as an input.

R redraws an image of the class it is told: three convolutions with stride 2 and back, the class as
a learned vector that scales and shifts the channels of each level (FiLM; E. Perez et al., AAAI
2018). D tells images from redrawn ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

KERNEL = 5
LEVELS = 3
EMBEDDING = 16  # numbers that a class is described with
LEAK = 0.2


@dataclass(frozen=True)
class Shape:
    """Of images (height, width, channels), and how many classes there are. ``width``: channels of
    the first level, doubled at each further one."""

    image: tuple[int, int, int]
    classes: int
    width: int = 16


def redrawer(shape: Shape) -> Any:
    """R, a Keras model: images (n, h, w, c) in [0, 1] and classes (n,) int32 to images."""
    from keras import Model, layers

    image = layers.Input(shape.image, name="image")
    chosen = layers.Input((), dtype="int32", name="class")
    vector = layers.Embedding(shape.classes, EMBEDDING)(chosen)
    x, sizes = image, []
    for level in range(LEVELS):
        sizes.append((int(x.shape[1]), int(x.shape[2])))
        x = layers.Conv2D(shape.width << level, KERNEL, 2, "same", use_bias=False)(x)
        x = _level(x, vector)
    for level in reversed(range(LEVELS)):
        last = level == 0
        channels = shape.image[2] if last else shape.width << level - 1
        x = layers.Conv2DTranspose(channels, KERNEL, 2, "same", use_bias=last)(x)
        over = [int(x.shape[i + 1]) - sizes[level][i] for i in (0, 1)]
        if any(over):
            x = layers.Cropping2D(((0, over[0]), (0, over[1])))(x)
        x = layers.Activation("sigmoid")(x) if last else _level(x, vector)
    return Model([image, chosen], x)


def discriminator(shape: Shape) -> Any:
    """D, a Keras model: images (n, h, w, c) in [0, 1] to a logit (n, 1) of being no redrawn one."""
    from keras import Model, layers

    image = x = layers.Input(shape.image)
    for level in range(LEVELS):
        x = layers.Conv2D(shape.width << level, KERNEL, 2, "same")(x)
        x = layers.LeakyReLU(negative_slope=LEAK)(x)
    return Model(image, layers.Dense(1)(layers.Flatten()(x)))


def _level(x: Any, vector: Any) -> Any:
    from keras import layers

    channels = int(x.shape[-1])
    x = layers.BatchNormalization(momentum=0.9)(x)
    scale = layers.Dense(channels, kernel_initializer="zeros", bias_initializer="ones")(vector)
    shift = layers.Dense(channels, kernel_initializer="zeros")(vector)
    x = layers.Multiply()([x, layers.Reshape((1, 1, channels))(scale)])
    x = layers.Add()([x, layers.Reshape((1, 1, channels))(shift)])
    return layers.LeakyReLU(negative_slope=LEAK)(x)
