"""Attacks on a model whose gradient is known: FGSM (Goodfellow et al. 2015), PGD (Madry et al.
2018) and DeepFool (Moosavi-Dezfooli et al. 2016).

Images are (n, H, W, C) in 0..255, and reach is in these units. What is attacked is a ``Gradient``;
``attacked`` takes that of a Keras model, in a child process with TensorFlow.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from scipy.special import softmax

from edgemon.compiler.errors import FaultError
from edgemon.compiler.faults.image import Bytes
from edgemon.compiler.faults.registry import generator, require_images
from edgemon.compiler.models import child
from edgemon.compiler.models.front_ends import HDF5, is_keras, read_file
from edgemon.runtime.preprocess import Preprocess

Floats = npt.NDArray[np.float64]
Classes = npt.NDArray[np.int64]

REACH = (1.0, 2.0, 4.0, 8.0, 16.0)  # largest change of a value, by severity
STEPS, STEP_SHARE = 10, 0.25  # of PGD; a step as a share of the reach
MOST_STEPS, OVERSHOOT, RIVALS = 50, 0.02, 10  # of DeepFool
FACTORS = (1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6, 8)  # by which a way is lengthened, until bytes tell
SEVERITIES = {"fgsm": 5, "pgd": 5, "deepfool": 1}
SILENCE_S = 900.0
WORKER = "edgemon.compiler.faults.attack_worker"


class NotAvailableError(FaultError):
    """A fault that cannot be made here, and why."""


class Gradient(Protocol):
    """A model of n images."""

    def logits(self, x: Floats) -> Floats:
        """(n, classes)."""

    def of(self, x: Floats, weights: Floats) -> Floats:
        """(n, H, W, C): the gradient of the logits' sum, weighted (n, classes)."""


def fgsm(model: Gradient, x: Floats, labels: Classes, severity: int) -> Floats:
    """One step of full reach to where the loss of the true class grows."""
    found: Floats = x + REACH[severity - 1] * np.sign(_loss_gradient(model, x, labels))
    return np.clip(found, 0, 255)


def pgd(model: Gradient, x: Floats, labels: Classes, severity: int, start: Floats) -> Floats:
    """Several steps within reach; ``start``: draws from -1 to 1, of the shape of x."""
    reach = REACH[severity - 1]
    low, high = np.maximum(x - reach, 0), np.minimum(x + reach, 255)
    found = np.clip(x + reach * start, low, high)
    for _ in range(STEPS):
        step = STEP_SHARE * reach * np.sign(_loss_gradient(model, found, labels))
        found = np.clip(found + step, low, high)
    return found


def deepfool(model: Gradient, x: Floats) -> Floats:
    """The nearest border between the model's own answer and another class, in steps on linear
    models of the logits, then a little beyond."""
    first = model.logits(x)
    ranked = np.argsort(-first, axis=1, kind="stable")[:, :RIVALS]
    own, n = ranked[:, 0], np.arange(len(x))
    moved = np.zeros_like(x)
    for _ in range(MOST_STEPS):
        now = x + (1 + OVERSHOOT) * moved
        logits = model.logits(now)
        still = logits.argmax(axis=1) == own
        if not still.any():
            break
        nearest, step = np.full(len(x), np.inf), np.zeros_like(x)
        for rival in ranked[:, 1:].T:
            weights = np.zeros_like(logits)
            weights[n, rival], weights[n, own] = 1, -1
            way = model.of(now, weights)
            square = (way**2).sum(axis=(1, 2, 3))
            gap = np.abs(logits[n, rival] - logits[n, own])
            with np.errstate(divide="ignore"):
                distance = np.where(square > 0, gap / np.sqrt(square), np.inf)
            nearer = distance < nearest
            scale = (gap + 1e-4) / np.where(square > 0, square, 1)
            step[nearer] = (scale[:, None, None, None] * way)[nearer]
            nearest = np.minimum(nearest, distance)
        moved[still] += step[still]
    return np.clip(x + (1 + OVERSHOOT) * moved, 0, 255)


def as_bytes(model: Gradient, x: Floats, moved: Floats) -> Floats:
    """Whole numbers on the way from x through ``moved``, the nearest that change the model's
    answer: rounding alone takes back most of what DeepFool does. The farthest where none does."""
    own = model.logits(x).argmax(axis=1)
    found, left = x.copy(), np.ones(len(x), bool)
    for factor in FACTORS:
        tried = np.rint(np.clip(x + factor * (moved - x), 0, 255))
        found[left] = tried[left]
        left &= model.logits(tried).argmax(axis=1) == own
    return found


def _loss_gradient(model: Gradient, x: Floats, labels: Classes) -> Floats:
    """Of the cross-entropy of the true class."""
    weights = softmax(model.logits(x), axis=1)
    weights[np.arange(len(x)), labels] -= 1
    return model.of(x, weights)


@dataclass(frozen=True)
class Target:
    """The model whose gradient is taken: a Keras file, and its own preprocessing."""

    model: Path
    preprocess: Preprocess


def attacked(
    target: Target, name: str, severity: int, images: Bytes, labels: Classes, *, seed: int,
    rows: Iterable[int],
) -> Bytes:  # fmt: skip
    """Images as they are after an attack, rounded to bytes. ``labels``: positions of the true
    classes. Raises NotAvailableError where there is no gradient."""
    if name not in SEVERITIES:
        raise FaultError(f"unknown attack {name!r}; there are {', '.join(SEVERITIES)}")
    if not 1 <= severity <= SEVERITIES[name]:
        raise FaultError(f"attack {name}: severity {severity}: 1 to {SEVERITIES[name]} exist")
    require_images(images)
    require_available(target, name)
    with TemporaryDirectory(prefix="edgemon-") as folder:
        files = {k: str(Path(folder) / f"{k}.npy") for k in ("x", "labels", "start", "out")}
        x = images.reshape(*images.shape[:3], -1)
        np.save(files["x"], x)
        np.save(files["labels"], labels.astype(np.int64))
        if name == "pgd":
            np.save(files["start"], np.stack([
                generator(name, severity, seed, row).uniform(-1, 1, x.shape[1:]) for row in rows
            ]))  # fmt: skip
        job: dict[str, Any] = {
            "task": "attack", "model": str(target.model), "attack": name, "severity": severity,
            "preprocess": target.preprocess.to_json(), "files": files,
        }  # fmt: skip
        child.run([job], subject=target.model.name, silence_s=SILENCE_S, module=WORKER)
        found = np.load(files["out"])
    made: Bytes = np.rint(found).astype(np.uint8).reshape(images.shape)
    return made


def require_available(target: Target, name: str) -> None:
    """Raises NotAvailableError unless the target has a gradient that can be taken here."""
    path = target.model
    head = b"" if path.is_dir() else read_file(path, "the model to attack", len(HDF5))
    if not is_keras(path, head):
        raise NotAvailableError(
            f"{name}: {path.name} has no gradient here: name a Keras model of the same task "
            "(gradient = ...)"
        )
    given = target.preprocess
    if given.resize or given.channels not in ("asis", "rgb") or given.layout == "nchw":
        raise NotAvailableError(
            f"{name}: the gradient is carried through scale, offset, mean and std, and not through "
            "a resize or another order of channels"
        )
    if find_spec("tensorflow") is None:
        raise NotAvailableError(
            f"{name}: the gradient of a Keras model needs TensorFlow: pip install 'edgemon[keras]'"
        )
