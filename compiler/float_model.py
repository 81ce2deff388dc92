"""The float model whose gradient a companion takes: whose it is, and whether it is the same network
as the model, as far as its answers tell."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.monitors.odin import (
    AGREEMENT,
    GradientOdinMonitor,
    codes_of,
    open_source,
)
from edgemon.compiler.recording.recording import answers
from edgemon.runtime.preprocess import Preprocess

ROWS = 500  # of which the answers are compared
# Between what is measured of ResNet8 and its int8 form (.97), and of it and a larger ResNet (.86).
LEAST_AGREEMENT = 0.9


def give_float_model(
    estimators: Sequence[MonitorEstimator], path: Path | None, origin: Path | None = None
) -> None:
    """Tell those that take a gradient whose it is: that of ``path``, else of ``origin``, the file
    that is made an int8 model here. Raises CompileError for a path if there are none."""
    found = _takers(estimators)
    if path is not None and not found:
        raise CompileError("--float-model goes with --monitor odin, which is not among them")
    source = origin if path is None else path
    for estimator in found if source is not None else ():
        estimator.set_params(float_model=str(source))


def compare_answers(
    estimators: Sequence[MonitorEstimator], model: Model, data: Dataset, preprocess: Preprocess,
    kernels: str,
) -> tuple[str, ...]:  # fmt: skip
    """Tell those that take another model's gradient how often it answers as the model does, on
    some rows of ``data``; returns that for people. Raises CompileError if it is seldom, for
    then it is another network."""
    said: dict[str, None] = {}
    for estimator in _takers(estimators):
        if not estimator.float_model:
            continue
        path = Path(estimator.float_model)
        rows = np.unique(np.linspace(0, len(data) - 1, min(ROWS, len(data))).astype(int))
        some = data.take(rows)
        with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
            source = open_source(path, model, Path(scratch))
            ways = ((model, preprocess), (source, codes_of(model).reals(preprocess)))
            own, other = (
                answers(
                    m.untapped(), some, [way], input=m.input, kernels=m.kernels(kernels), workers=1
                )
                for m, way in ways
            )
        share = float((own == other).mean())
        require_agreement(path, share, len(rows))
        estimator.set_params(agreement=share)
        text = f"float model {path.name}: answers as the model on {share:.1%} of {len(rows)} rows"
        said[text] = None
    return tuple(said)


def require_agreement(path: Path, share: float, rows: int) -> None:
    """Raises CompileError for a float model that answers otherwise."""
    if share < LEAST_AGREEMENT:
        raise CompileError(
            f"--float-model {path}: answers as the model on {share:.1%} of {rows} rows, less than "
            f"{LEAST_AGREEMENT:.0%}: it is another network, or takes other values; give the one "
            "that the model was made from"
        )


def agreement_json(estimator: MonitorEstimator) -> dict[str, float]:
    """What ``compare_answers`` found; nothing where there was nothing to compare."""
    shares = [e.agreement for e in _takers([estimator]) if e.agreement is not None]
    return {AGREEMENT: shares[0]} if shares else {}


def takes_float_model(estimators: Sequence[MonitorEstimator]) -> bool:
    """Does any of them take a gradient?"""
    return bool(_takers(estimators))


def _takers(estimators: Sequence[MonitorEstimator]) -> list[GradientOdinMonitor]:
    return [e for e in estimators if isinstance(e, GradientOdinMonitor)]
