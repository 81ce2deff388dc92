"""A fusion over resplits: its members are fitted and judged once, what it learns from held-out
rows is learned anew each time.

It is lowered to a device program every time as ``edgemon compile`` does, but of that program only
the nodes behind the members' scores are evaluated, for those scores are known.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgemon.bench.compare import costs
from edgemon.bench.compare.judges import POOL, Judge, Raw, RecordedRows, Scores
from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.groups import Groups
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.monitors.lowering import lowered
from edgemon.compiler.program.ir import Program
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.recording.recording import Recording

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Fused:
    """A fusion whose members are fitted, and their judges in the same order."""

    fusion: MonitorEstimator
    judges: tuple[Judge, ...]
    rows: RecordedRows
    bill: Bill  # of the members, in that order
    crossed: Floats | None = None  # (fit rows, members) by ``cross_fitted``

    @classmethod
    def of(
        cls, fusion: MonitorEstimator, judges: tuple[Judge, ...], rows: RecordedRows,
        crossed: Floats | None = None,
    ) -> Fused:  # fmt: skip
        program, _ = lowered(fusion.members_, rows.fit.taps, rows.output).represented()
        return cls(fusion, judges, rows, Bill(program, costs.times()), crossed)

    def without(self, position: int) -> Fused:
        """The same without one of its members; nothing is learned yet."""
        rest = copy(self.fusion)
        left = [i for i in range(len(self.judges)) if i != position]
        rest.members_ = tuple(self.fusion.members_[i] for i in left)
        rest.novelty_ = tuple(m for m in rest.members_ if self.fusion.is_novelty(m))
        rest.left_out_ = dict(self.fusion.left_out_)
        crossed = None if self.crossed is None else self.crossed[:, left]
        return Fused.of(rest, tuple(self.judges[i] for i in left), self.rows, crossed)

    def learn(self, index: npt.NDArray[np.int64]) -> None:
        """From these rows of the pool."""
        self._combine([j.scores[POOL][index] for j in self.judges], self.rows.wrong[index])

    def learn_from(self, held_out: Recording) -> None:
        """From rows on which the members were not fitted."""
        scores = [j.judge(held_out) for j in self.judges]
        self._combine(scores, ~held_out.correct, held_out.groups)

    def learn_crossed(self, crossed: Floats) -> None:
        """From the fit rows, by scores (n, members) of members that were not fitted on them."""
        fit = self.rows.fit.without_moved
        self.fusion.combine(crossed, ~fit.correct, self.bill, fit.groups)

    def _combine(self, scores: Sequence[Raw], wrong: Bools, groups: Groups | None = None) -> None:
        reals = [j.represented.real(s) for j, s in zip(self.judges, scores, strict=True)]
        self.fusion.combine(np.column_stack(reals), wrong, self.bill, groups)

    def program(self) -> Program:
        """The device program of what was learned: the fusion, then the scores that it sums."""
        found = lowered([self.fusion], self.rows.fit.taps, self.rows.output)
        return found.quantised([*found.monitors(), *self.fusion.signal_monitors()])

    def scores(self, program: Program) -> Scores:
        """Raw scores of the program's first monitor: of the pool, and of novel sets by name."""
        judge_of = {m.kind: j for m, j in zip(self.fusion.members_, self.judges, strict=True)}
        terms = [judge_of[kind] for kind in self.fusion.weights_]
        ids = [m.score for m in program.monitors[1:]]
        return {
            part: behind(program, {i: t.scores[part] for i, t in zip(ids, terms, strict=True)})
            for part in self.judges[0].scores
        }


def behind(program: Program, known: Mapping[int, Raw]) -> Raw:
    """The first monitor's score (n,), from values of scalar nodes (n,) by their ids."""
    values: dict[int, Raw] = {i: v[:, None] for i, v in known.items()}
    for index, node in enumerate(program.nodes, len(program.taps)):
        if index not in values and all(i in values for i in node.inputs):
            values[index] = OPS[node.op].evaluate(node, *(values[i] for i in node.inputs))
    return values[program.monitors[0].score][:, 0]
