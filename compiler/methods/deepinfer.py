"""Precondition thresholds: what a model's weights demand of its inputs, and who breaks it.

Ahmed, Gao, Rajan: "Inferring Data Preconditions from Deep Learning Models for Trustworthy
Prediction in Deployment", ICSE 2024 (DeepInfer). For the models' own errors its signal is about
nil; it is here because people ask for it.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from edgemon.compiler.errors import CompileError
from edgemon.runtime.evaluation import Verdict

Array = npt.NDArray[Any]
# Kernel (n_in, n_out), bias (n_out,), activation: one dense layer.
Dense: TypeAlias = tuple[Array, Array, str]

POSTCONDITION = 0.95
COMPARATORS: dict[str, Callable[[Any, Any], Any]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
}


def _log_odds(p: Array) -> Array:
    return np.asarray(np.log(p / (1 - p)))


def _half_log(p: Array) -> Array:
    return np.asarray(0.5 * np.log(np.abs((p - 1) / (p + 1))))


# What the postcondition p becomes in front of the activation: a factor of the bias.
FACTORS: dict[str, Callable[[Array], Array]] = {
    "linear": lambda p: p,
    "relu": np.ones_like,
    "sigmoid": _log_odds,
    "tanh": _half_log,
}


@dataclass(frozen=True)
class Precondition:
    """Bounds ``values`` (n_in,) on the input of the first layer; not finite where a postcondition
    lies outside the activation's range, and then every row violates it."""

    values: npt.NDArray[np.float64]
    skipped: tuple[int, ...] = ()  # positions of layers that the method cannot handle
    as_linear: bool = False  # nothing was left: the last layer was read as if it were linear


def precondition(layers: Sequence[Dense], postcondition: float = POSTCONDITION) -> Precondition:
    """From the last layer to the first, each with its own activation. A layer with another
    activation (softmax) is skipped; if none is left, the last layer is treated as linear."""
    known = [i for i, (_, _, activation) in enumerate(layers) if activation in FACTORS]
    skipped = tuple(i for i in range(len(layers)) if i not in known)
    if not known:
        kernel, bias, _ = _last(layers)
        return Precondition(_through((kernel, bias, "linear"), postcondition), skipped, True)
    p: float | Array = postcondition
    for i in reversed(known):
        width = layers[i][0].shape[1]
        p = _through(layers[i], p if np.size(p) in (1, width) else postcondition)
    return Precondition(np.asarray(p, np.float64), skipped)


def precondition_as_published(
    layers: Sequence[Dense], postcondition: float = POSTCONDITION
) -> Precondition:
    """As the published program recurses: it first solves the model without its first activation,
    then goes through all layers below the last again with that first activation. It differs from
    ``precondition`` only where hidden layers are not all ReLU. Raises CompileError where the
    published program stops for shapes that do not fit."""

    def solve(activations: Sequence[str]) -> float | Array:
        if len(activations) == 1:
            return _through((*_last(layers)[:2], activations[0]), postcondition)
        p = solve(activations[1:])
        for kernel, bias, _ in reversed(layers[:-1]):
            p = _through((kernel, bias, activations[0]), p)
        return p

    try:
        return Precondition(np.asarray(solve([a for _, _, a in layers]), np.float64))
    except (ValueError, KeyError):
        raise CompileError(
            "deepinfer: the published program cannot handle these layers "
            f"({', '.join(a for _, _, a in layers)}); use the own activation of each layer"
        ) from None


def violations(x: Array, bounds: Array, comparator: str = ">=") -> npt.NDArray[np.bool_]:
    """(n, f): where a feature does not satisfy ``x comparator bound``."""
    return ~np.asarray(COMPARATORS[comparator](x, bounds), bool)


def importance(violated: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """(f,): the features that are violated at most as often as the mean feature."""
    counts = violated.sum(axis=0)
    return np.asarray(counts <= counts.mean(), bool)


class DeepInfer(BaseEstimator):  # type: ignore[misc] # scikit-learn is untyped
    """Decides by how many important and unimportant features a row violates.

    ``freeze_importance``: take it from the reference rows, as a monitor must, which sees one row
    at a time; else (as published) from the batch under test.
    """

    def __init__(
        self, bounds: Array, comparator: str = ">=", freeze_importance: bool = True
    ) -> None:
        self.bounds = bounds
        self.comparator = comparator
        self.freeze_importance = freeze_importance

    def fit(self, x: Array) -> Self:
        """Learn from reference rows (n, f), without labels: normally the validation rows."""
        if self.comparator not in COMPARATORS:
            raise CompileError(
                f"deepinfer: unknown comparator {self.comparator!r}; there are "
                + ", ".join(COMPARATORS)
            )
        violated = violations(x, self.bounds, self.comparator)
        self.threshold_ = float(violated.sum(axis=1).mean())
        self.important_ = importance(violated)
        return self

    def verdicts(self, x: Array) -> npt.NDArray[np.uint8]:
        """(n,) of Verdict."""
        m, less = self._counts(x)
        wrong = (less > self.threshold_) & (m < self.threshold_)
        found = np.where(wrong, Verdict.ALARM, Verdict.TRUST)
        return np.where((less == m) & (m != 0), Verdict.UNCERTAIN, found).astype(np.uint8)

    def scores(self, x: Array) -> npt.NDArray[np.float64]:
        """(n,): above 0 where both conditions of an alarm hold, and by how much."""
        m, less = self._counts(x)
        return np.asarray(np.minimum(less - self.threshold_, self.threshold_ - m), np.float64)

    def _counts(self, x: Array) -> tuple[Array, Array]:
        """Violated important and unimportant features of each row."""
        violated = violations(x, self.bounds, self.comparator)
        important = self.important_ if self.freeze_importance else importance(violated)
        return violated[:, important].sum(axis=1), violated[:, ~important].sum(axis=1)


def _through(layer: Dense, postcondition: float | Array) -> npt.NDArray[np.float64]:
    """The precondition (n_in,) of one layer; a scalar postcondition, or one an output (n_out,)."""
    kernel, bias = np.asarray(layer[0], np.float64), np.asarray(layer[1], np.float64)
    g = np.linalg.pinv(kernel @ kernel.T) @ kernel
    with np.errstate(all="ignore"):
        factor = FACTORS[layer[2]](np.asarray(postcondition, np.float64))
        if layer[2] == "relu":  # whatever the postcondition's shape: it has no effect
            return np.asarray(g @ -bias)
        return np.asarray((g * factor) @ -bias)


def _last(layers: Sequence[Dense]) -> Dense:
    if not layers:
        raise CompileError("deepinfer: the model has no dense layer to analyse")
    return layers[-1]
