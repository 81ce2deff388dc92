"""R against D, on rows that the classifier was made for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.alocc.network import Shape, discriminator, redrawer
from edgemon.bench.errors import BenchError
from edgemon.compiler.reporter import Progress

Floats = npt.NDArray[np.float32]
Classes = npt.NDArray[np.int64]
FEWEST, FEWEST_HELD = 16, 2  # rows to learn from, validation rows


@dataclass(frozen=True)
class Plan:
    """``sigma``: of the noise that R learns to take away, in parts of the range; ``weight``: of the
    squared error beside D's judgement (lambda); ``patience``: epochs without a lesser error on
    validation rows before it stops; ``validation``: their share."""

    epochs: int = 60
    width: int = 16
    sigma: float = 0.1
    weight: float = 0.4
    batch: int = 64
    rate: float = 1e-3
    patience: int = 8
    validation: float = 0.125
    seed: int = 0


@dataclass(frozen=True)
class Trained:
    """R as it was at the least mean squared error on validation rows, and that error by epoch."""

    network: Any
    errors: tuple[float, ...]
    rows: int
    validation_rows: int

    @property
    def best(self) -> int:
        """The epoch, from 0."""
        return int(np.argmin(self.errors))


def train(
    x: Floats, classes: Classes, groups: npt.NDArray[Any] | None, count: int, plan: Plan,
    progress: Progress,
) -> Trained:  # fmt: skip
    """Images (n, h, w, c) in [0, 1] of ``count`` classes. Rows of one group are all validation rows
    or none. The sum of squared errors of an image is what lambda weighs. Raises BenchError for too
    few rows."""
    import keras
    import tensorflow as tf

    fit, held = split(len(x), groups, plan)
    if len(fit) < FEWEST or len(held) < FEWEST_HELD:
        raise BenchError(
            f"{len(fit)} rows to learn from and {len(held)} validation rows: alocc needs at least "
            f"{FEWEST} and {FEWEST_HELD}"
        )
    keras.backend.clear_session()  # names of layers count on, and stand in the file
    keras.utils.set_random_seed(plan.seed)
    shape = Shape((x.shape[1], x.shape[2], x.shape[3]), count, plan.width)
    network, judge = redrawer(shape), discriminator(shape)
    step = _step(network, judge, plan)
    rows = tf.data.Dataset.from_tensor_slices((x[fit], classes[fit].astype(np.int32)))
    rows = rows.shuffle(len(fit), seed=plan.seed).batch(plan.batch)
    errors: list[float] = []
    best: list[Any] = []
    for epoch in range(plan.epochs):
        for images, chosen in rows:
            step(images, chosen)
        errors.append(float(np.mean(error(network, x[held], classes[held]))))
        if errors[-1] <= min(errors):
            best = network.get_weights()
        progress(epoch + 1, plan.epochs)
        if epoch - int(np.argmin(errors)) >= plan.patience:
            break
    network.set_weights(best)
    return Trained(network, tuple(errors), len(fit), len(held))


def error(network: Any, x: Floats, classes: Classes) -> npt.NDArray[np.float64]:
    """Mean squared error (n,) of images redrawn without noise."""
    found = [
        np.asarray(network([x[i : i + 256], classes[i : i + 256].astype(np.int32)], training=False))
        for i in range(0, len(x), 256)
    ]
    redrawn = np.concatenate(found).astype(np.float64)
    squared: npt.NDArray[np.float64] = np.square(redrawn - x).mean(axis=(1, 2, 3))
    return squared


def split(n: int, groups: npt.NDArray[Any] | None, plan: Plan) -> tuple[Classes, Classes]:
    """Indices of rows to learn from and of validation rows, drawn by group."""
    keys = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1].ravel()
    names = np.random.default_rng(plan.seed).permutation(int(keys.max()) + 1)
    held = np.isin(keys, names[: max(1, round(plan.validation * len(names)))])
    return np.flatnonzero(~held), np.flatnonzero(held)


def _step(network: Any, judge: Any, plan: Plan) -> Callable[[Any, Any], None]:
    """One step of each network on a batch: L_D = -log D(x) - log(1 - D(R(x~))), then
    L_R = -log D(R(x~)) + lambda |x - R(x~)|^2."""
    import keras
    import tensorflow as tf

    redraw, tell = (keras.optimizers.Adam(plan.rate, beta_1=0.5) for _ in range(2))
    redraw.build(network.trainable_variables)
    tell.build(judge.trainable_variables)

    @tf.function(reduce_retracing=True)  # type: ignore[untyped-decorator]
    def step(images: Any, classes: Any) -> None:
        noisy = images + tf.random.normal(tf.shape(images), stddev=plan.sigma)
        with tf.GradientTape() as of_r, tf.GradientTape() as of_d:
            drawn = network([noisy, classes], training=True)
            real, made = judge(images, training=True), judge(drawn, training=True)
            loss_d = tf.reduce_mean(tf.nn.softplus(-real) + tf.nn.softplus(made))
            squared = tf.reduce_sum(tf.square(images - drawn), axis=(1, 2, 3))
            loss_r = tf.reduce_mean(tf.nn.softplus(-made)[:, 0] + plan.weight * squared)
        for tape, loss, model, by in (
            (of_d, loss_d, judge, tell), (of_r, loss_r, network, redraw),
        ):  # fmt: skip
            by.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)

    made: Callable[[Any, Any], None] = step
    return made
