"""What monitors may take: from the command or the target's profile, and whether they keep to it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from edgemon.compiler.errors import BudgetError, CompileError
from edgemon.targets import KILOBYTE_LIMITS, MICROSECOND_LIMITS, Budget, Target

if TYPE_CHECKING:  # they take long to import, and mistakes are answered at once
    from edgemon.compiler.cost.bill import Bill
    from edgemon.compiler.fitted import Fitted
    from edgemon.compiler.monitors import MonitorEstimator


def resolve(kilobytes: float | None, microseconds: float | None, target: Target) -> Budget:
    """The budget that was asked for, else the target's. Raises CompileError on one that makes no
    sense, or that cannot be checked for want of times."""
    least, most = KILOBYTE_LIMITS
    if kilobytes is not None and not least <= kilobytes <= most:
        raise CompileError(
            f"--budget-kb {kilobytes:g}: must lie between {least:g} and {most:g} (kB of 1024 bytes)"
        )
    if microseconds is not None:
        longest = MICROSECOND_LIMITS[1]
        if not 0 < microseconds <= longest:
            raise CompileError(
                f"--budget-us {microseconds:g}: must lie above 0 and not above {longest:g}"
            )
        _require_times("--budget-us", target)
    own = target.budget
    return Budget(
        own.kilobytes if kilobytes is None else kilobytes,
        own.microseconds if microseconds is None else microseconds,
    )


def require_times(estimators: Sequence[MonitorEstimator], target: Target) -> None:
    """Raises CompileError if a fusion has a budget of time and the target no times."""
    for estimator in estimators:
        if estimator.budget.microseconds is not None:
            _require_times(f"--monitor {estimator.kind}: budget_us", target)


def require_kept(fitted: Fitted, budget: Budget, target: Target) -> None:
    """Raises BudgetError if the monitors together take more than they may."""
    from edgemon.compiler.cost.bill import KILOBYTE, Bill, flags

    bill = Bill(fitted.program, target.times)
    whole = bill.together()
    missed = []
    if not whole.fits(Budget(kilobytes=budget.kilobytes)):
        missed.append(f"kilobytes are {whole.size_bytes / KILOBYTE:.4g}, over {budget.kilobytes:g}")
    if not whole.fits(Budget(microseconds=budget.microseconds)):
        missed.append(
            f"microseconds on {target.name}, estimated, are {whole.microseconds:.4g}, over "
            f"{budget.microseconds:g}"
        )
    if missed:
        each = "; ".join(f"{judge.name} {judge.cost}" for judge in fitted.judges)
        raise BudgetError(
            f"budget missed: {'; '.join(missed)} ({each}): choose fewer monitors or smaller ones "
            f"(--monitor), {_room(fitted, bill, budget)}or allow more ({flags(budget)})"
        )


def _room(fitted: Fitted, bill: Bill, budget: Budget) -> str:
    """How fusions leave room for the other monitors, if they can: each takes what it is given."""
    fusions = [j.name for j in fitted.judges if j.estimator.learns_from_held_out]
    others = [i for i, judge in enumerate(fitted.judges) if judge.name not in fusions]
    if not fusions:
        return ""
    from edgemon.compiler.cost.bill import KILOBYTE

    taken = bill.together(others)
    settings = []
    if budget.kilobytes is not None:
        left = math.floor((budget.kilobytes - taken.size_bytes / KILOBYTE) / len(fusions) * 10) / 10
        if left < KILOBYTE_LIMITS[0]:
            return ""
        settings.append(f"budget_kb={left:g}")
    if budget.microseconds is not None:
        assert taken.microseconds is not None  # else ``resolve`` has refused the budget
        left = math.floor((budget.microseconds - taken.microseconds) / len(fusions) * 100) / 100
        if left <= 0:
            return ""
        settings.append(f"budget_us={left:g}")
    smaller = ",".join(":".join((kind, *settings)) for kind in fusions)
    return f"leave room for the others ({smaller}), "


def _require_times(what: str, target: Target) -> None:
    if target.times is None:
        raise CompileError(
            f"{what}: the profile of target {target.name} has no [nanoseconds], so that no time "
            "can be estimated: measure them on the target with `edgemon op-times --toml`, and "
            "paste what it prints"
        )
