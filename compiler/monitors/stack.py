"""Which signals a stack keeps, and how it weighs them: measured on held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

from edgemon.compiler.data.groups import Codes
from edgemon.compiler.errors import CompileError
from edgemon.compiler.intervals import auroc_interval

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

FOLDS = 5
LEAST_GAIN = 0.0005  # of the AUROC, for which one more signal is kept
RIDGE = 1e-3
FEWEST_ERRORS = 10


@dataclass(frozen=True)
class Choice:
    """One candidate signal: its worth alone, and what the stack had when it was looked at."""

    index: int
    signal: str
    size_bytes: int
    auroc: float | None
    auroc_interval: tuple[float, float] | None
    kept: bool
    stack_auroc: float | None  # of the stack with it, out of fold

    def to_json(self) -> dict[str, Any]:
        found = asdict(self)
        del found["index"]
        return found


def choose(
    names: Sequence[str], surprises: Floats, wrong: Bools, sizes: Sequence[int], room: float,
    seed: int, groups: Codes | None = None,
) -> list[Choice]:  # fmt: skip
    """Greedy: the signal that lifts the out-of-fold AUROC of the stack most joins it, while that
    lifts by ``LEAST_GAIN`` and the bytes fit in ``room``. Kept signals come first, in the order in
    which they joined.

    With fewer than ``FEWEST_ERRORS`` wrong (or right) rows, or groups with one, the first signal
    alone is kept.

    Args:
        surprises: (n, signals). wrong: (n,), the model's. groups: (n,), of which none is in two
            folds.
    """
    folds = _folds(wrong, seed, groups)
    if not folds:
        return [  # nothing can be compared: the first, which is the cheapest
            Choice(i, names[i], int(sizes[i]), None, None, i == 0, None) for i in range(len(names))
        ]
    kept: list[int] = []
    joined: dict[int, float] = {}
    tried: dict[int, float] = {}
    best = 0.0
    while True:
        fitting = [
            i for i in range(len(names))
            if i not in kept and sizes[i] + sum(sizes[k] for k in kept) <= room
        ]  # fmt: skip
        found = {i: _out_of_fold(surprises[:, [*kept, i]], wrong, folds) for i in fitting}
        tried.update(found)
        if not found:
            break
        index = max(found, key=lambda i: found[i])
        if kept and found[index] < best + LEAST_GAIN:
            break
        best = found[index]
        kept.append(index)
        joined[index] = best
    if not kept:
        raise CompileError(
            f"fusion: no signal fits in {room / 1024:.1f} kB; give more (budget_kb), or choose "
            "single monitors"
        )
    order = [*kept, *(i for i in range(len(names)) if i not in kept)]
    return [
        Choice(
            i, names[i], int(sizes[i]), float(roc_auc_score(wrong, surprises[:, i])),
            auroc_interval(surprises[:, i], wrong), i in joined, joined.get(i, tried.get(i)),
        )
        for i in order
    ]  # fmt: skip


def _folds(wrong: Bools, seed: int, groups: Codes | None) -> list[tuple[Any, Any]]:
    """Rows to learn from and rows to judge by, each with wrong and right ones; none where there
    are too few."""
    each = np.arange(len(wrong)) if groups is None else groups
    if min(len(np.unique(each[wrong])), len(np.unique(each[~wrong]))) < FEWEST_ERRORS:
        return []
    kind = StratifiedKFold if groups is None else StratifiedGroupKFold
    folds = kind(FOLDS, shuffle=True, random_state=seed).split(wrong, wrong, groups)
    return [fold for fold in folds if all(0 < wrong[part].sum() < len(part) for part in fold)]


def _out_of_fold(x: Floats, wrong: Bools, folds: Sequence[tuple[Any, Any]]) -> float:
    if x.shape[1] == 1:
        return float(roc_auc_score(wrong, x[:, 0]))
    parts = [
        roc_auc_score(wrong[judge], x[judge] @ stack_weights(x[learn], wrong[learn]))
        for learn, judge in folds
    ]
    return float(np.mean(parts))


def stack_weights(surprises: Floats, wrong: Bools) -> Floats:
    """(signals,): weights >= 0 of a logistic regression of ``wrong`` (n,) on surprises (n,
    signals), with a slight ridge penalty."""
    n, m = surprises.shape
    sign = np.where(wrong, 1.0, -1.0)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        margin = sign * (surprises @ parameters[:m] + parameters[m])
        value = np.logaddexp(0, -margin).mean() + RIDGE / 2 * np.square(parameters[:m]).sum()
        slope = -sign * np.exp(-np.logaddexp(0, margin)) / n
        gradient = np.append(surprises.T @ slope + RIDGE * parameters[:m], slope.sum())
        return float(value), gradient

    start = np.append(np.full(m, 1 / m), -1.0)
    bounds = [(0, None)] * m + [(None, None)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x[:m]
    if not (found > 0).any():  # nothing separates: all alike
        found = np.full(m, 1 / m)
    return np.asarray(found)
