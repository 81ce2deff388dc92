"""Which signals a stack keeps, and how it weighs them: measured on held-out rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score

from edgemon.compiler.cost.bill import Cost, flags
from edgemon.compiler.data.groups import Groups
from edgemon.compiler.errors import BudgetError
from edgemon.compiler.statistics import tuning
from edgemon.compiler.statistics.intervals import (
    Interval,
    auroc_gain,
    auroc_interval,
    placements,
)
from edgemon.targets import Budget

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

LEAST_GAIN = 0.0005  # of the AUROC, for which one more signal is kept
ERRORS = 1.0  # standard errors that its gain must have: what is less may be chance
RIDGE = 1e-3
TOO_FEW = (
    f"fewer than {tuning.FEWEST_ERRORS} wrong or right held-out rows: signals cannot be compared, "
    "and the first that fits is taken"
)


@dataclass(frozen=True, eq=False)
class Choice:
    """One candidate signal: its worth alone, and what the stack had when it was looked at."""

    index: int
    signal: str
    alone: Cost
    surprise: Floats  # (n,) of held-out rows
    wrong: Bools  # (n,)
    auroc: float | None
    kept: bool
    stack_auroc: float | None  # of the stack with it, out of fold
    so_far: Cost | None  # of the fusion with it and those that joined before; None if not kept
    left_out: str  # why it had no chance to join; "" of one that had

    @cached_property
    def auroc_interval(self) -> Interval | None:
        """By resampling, which takes a while: only where somebody looks at it."""
        return None if self.auroc is None else auroc_interval(self.surprise, self.wrong)

    def to_json(self) -> dict[str, Any]:
        return {
            "signal": self.signal,
            "size_bytes": self.alone.size_bytes,
            "estimated_us": self.alone.microseconds,
            "auroc": self.auroc,
            "auroc_interval": self.auroc_interval,
            "kept": self.kept,
            "stack_auroc": self.stack_auroc,
            "stack_bytes": None if self.so_far is None else self.so_far.size_bytes,
            "stack_estimated_us": None if self.so_far is None else self.so_far.microseconds,
        }


def choose(
    names: Sequence[str], surprises: Floats, wrong: Bools,
    together: Callable[[Sequence[int]], Cost], alone: Sequence[Cost], budget: Budget, seed: int,
    groups: Groups | None = None,
) -> list[Choice]:  # fmt: skip
    """Greedy: the signal that lifts the out-of-fold AUROC of the stack most joins it, while that
    lifts by ``LEAST_GAIN`` and the cost is within the budget. Kept signals come first, in the order
    in which they joined.

    With fewer wrong (or right) rows, or groups with one, than ``tuning.FEWEST_ERRORS`` the first
    signal that fits is kept, and no other. Raises BudgetError if none fits.

    Args:
        surprises: (n, signals). wrong: (n,), the model's. groups: (n,), of which none is in two
            folds.
        together: cost of the fusion of these signals. alone: of each signal by itself.
    """
    possible = [i for i in range(len(names)) if together([i]).fits(budget)]
    if not possible:
        short = _too_small(budget, [together([i]) for i in range(len(names))])
        raise BudgetError(
            f"fusion: no signal fits in {_said(short)}; give more ({flags(short)}), or choose "
            "single monitors"
        )
    kept: list[int] = []
    joined: dict[int, float] = {}
    tried: dict[int, float] = {}
    folds = tuning.folds(wrong, seed, groups)
    if folds:
        kept, joined, tried = _grow(surprises, wrong, together, budget, folds)
    else:
        kept = possible[:1]  # nothing can be compared: the first, which is the cheapest
    order = [*kept, *(i for i in range(len(names)) if i not in kept)]
    return [
        Choice(
            i, names[i], alone[i], surprises[:, i], wrong,
            float(roc_auc_score(wrong, surprises[:, i])) if joined else None, i in kept,
            joined.get(i, tried.get(i)), together(kept[: k + 1]) if i in kept else None,
            "" if i in kept else _no_chance(i, kept, together, budget, compared=bool(folds)),
        )
        for k, i in enumerate(order)
    ]  # fmt: skip


def _no_chance(
    index: int, kept: Sequence[int], together: Callable[[Sequence[int]], Cost], budget: Budget,
    *, compared: bool,
) -> str:  # fmt: skip
    """Why a signal that was not kept could not join; "" where it was measured beside ``kept``."""
    cost = together([*kept, index])
    if not cost.fits(budget):
        return (
            f"with it the fusion would take {cost}, more than the budget of {_said(budget)}; give "
            f"more ({flags(budget)})"
        )
    return "" if compared else TOO_FEW


def _grow(
    surprises: Floats, wrong: Bools, together: Callable[[Sequence[int]], Cost], budget: Budget,
    folds: Sequence[tuple[Any, Any]],
) -> tuple[list[int], dict[int, float], dict[int, float]]:  # fmt: skip
    """Signals in the order in which they joined, the AUROC of the stack with each of them, and the
    last AUROC with each that was tried."""
    kept: list[int] = []
    joined: dict[int, float] = {}
    tried: dict[int, float] = {}
    best = np.zeros(0)
    judged = np.concatenate([wrong[judge] for _, judge in folds])
    while True:
        fitting = [
            i for i in range(surprises.shape[1])
            if i not in kept and together([*kept, i]).fits(budget)
        ]  # fmt: skip
        placed = {i: _out_of_fold(surprises[:, [*kept, i]], wrong, folds) for i in fitting}
        found = {i: float(places[judged].mean()) for i, places in placed.items()}
        tried.update(found)
        if not found:
            break
        index = max(found, key=lambda i: found[i])
        if kept:
            gain, error = auroc_gain(placed[index], best, judged)
            if gain < max(LEAST_GAIN, ERRORS * error):
                break
        best = placed[index]
        kept.append(index)
        joined[index] = found[index]
    return kept, joined, tried


def _too_small(budget: Budget, costs: Sequence[Cost]) -> Budget:
    """The limits that none of these costs keeps to; all, where each is kept to by some."""
    missed = Budget(
        None if any(c.fits(Budget(budget.kilobytes)) for c in costs) else budget.kilobytes,
        None if any(c.fits(Budget(None, budget.microseconds)) for c in costs)
        else budget.microseconds,
    )  # fmt: skip
    return budget if missed == Budget() else missed


def _said(budget: Budget) -> str:
    limits = (
        f"{budget.kilobytes:g} kB" if budget.kilobytes is not None else "",
        f"{budget.microseconds:g} us" if budget.microseconds is not None else "",
    )
    return " and ".join(filter(None, limits))


def _out_of_fold(x: Floats, wrong: Bools, folds: Sequence[tuple[Any, Any]]) -> Floats:
    """Placements of the rows of each fold among themselves, fold by fold."""
    alone = x.shape[1] == 1
    return np.concatenate([
        placements(
            x[judge, 0] if alone else x[judge] @ stack_weights(x[learn], wrong[learn]), wrong[judge]
        )
        for learn, judge in folds
    ])  # fmt: skip


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
