"""What a fusion adds to its signals: the nodes that make one score of theirs, and their cost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from edgemon.compiler.cost.bill import Bill, Cost
from edgemon.compiler.monitors.shared.steps import forest_of
from edgemon.compiler.monitors.shared.tails import STEPS, UNIT, Surprise
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.promise.calibration import set_thresholds
from edgemon.targets import OpTimes

Floats = npt.NDArray[np.float64]
Table = tuple[Floats, Floats]  # knots and whole values, see ``steps.forest_of``


def table_of(surprise: Surprise, weight: float = 1.0) -> Table:
    """Knots of a surprise, and its weighted values in whole UNIT-ths of a nat."""
    return surprise.knots, np.rint(weight * UNIT * surprise.values)


def fused(
    builder: Builder, learned: Sequence[tuple[int, Table]], new: Sequence[tuple[int, Table]],
    stack_surprise: Surprise,
) -> int:  # fmt: skip
    """Id of the fusion's score, from ids of scores and what each adds."""
    stack = _sum(builder, learned)
    return _sum(builder, [(stack, table_of(stack_surprise)), *new]) if new else stack


def _sum(builder: Builder, parts: Sequence[tuple[int, Table]]) -> int:
    whole = parts[0][0]
    for following, _ in parts[1:]:
        whole = builder.node("concat", whole, following)
    return builder.node("trees", whole, tables=forest_of([t for _, t in parts]).pack("float64"))


def own_cost(
    learned: Sequence[Surprise], new: Sequence[Surprise], times: OpTimes | None, thresholds: int = 1
) -> Cost:
    """What a fusion adds to its signals, at most: as if each score had to become a float. With
    more than one of ``thresholds``, those of the classes are a table that counts too."""
    count = len(learned) + len(new)
    builder = Builder([Tap(f"score {i}", "float32", 1) for i in range(count)], real=True)
    ids = [builder.node("scale", i, tables=[np.array([2.0])]) for i in range(count)]
    parts = list(zip(ids, map(table_of, [*learned, *new]), strict=True))
    most = max(s.values.max() for s in (*learned, *new))  # all are of the same rows
    steps = Surprise(np.arange(STEPS - 1.0), np.linspace(0, most, STEPS))  # no stack has more
    score = fused(builder, parts[: len(learned)], parts[len(learned) :], steps)
    predicted = builder.node("argmax", 0)
    program = quantise(builder.program(predicted, [Monitor("fusion", score, 0.0, 0.0)]))
    if thresholds > 1:
        program = set_thresholds(program, [[0] * thresholds], per_class=True)
    return Bill(program, times).without_evaluation()
