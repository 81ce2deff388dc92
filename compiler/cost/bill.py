"""What a program costs: bytes, steps of an evaluation, and its time on a target, estimated.

A step is what an inner loop does once: compare, look up, multiply and add; an exponential or a
logarithm is sixteen. Their sum is the work that the C runtime states (FORMAT.md, section 7.12).
Evaluation has no early exit, so that the count bounds every evaluation; only ``boxes`` and
``hamming`` take fewer, for a class with fewer boxes or patterns. Times: ``timing``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from edgemon.compiler.cost import timing
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Program
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.program.ops.op import Parts
from edgemon.targets import Budget, OpTimes

KILOBYTE = 1024  # bytes


@dataclass(frozen=True)
class Cost:
    """Bytes of tables and nodes, and nanoseconds of an evaluation (None: nobody has measured)."""

    size_bytes: int
    nanoseconds: float | None

    @property
    def microseconds(self) -> float | None:
        return None if self.nanoseconds is None else self.nanoseconds / 1e3

    def __add__(self, other: Cost) -> Cost:
        times = self.nanoseconds, other.nanoseconds
        whole = None if times[0] is None or times[1] is None else times[0] + times[1]
        return Cost(self.size_bytes + other.size_bytes, whole)

    def __str__(self) -> str:
        time = "" if self.microseconds is None else f" and {self.microseconds:.1f} us"
        return f"{self.size_bytes / KILOBYTE:.1f} kB{time}"

    def fits(self, budget: Budget) -> bool:
        """Is it within the budget? What has no time is not within a time."""
        most_bytes = np.inf if budget.kilobytes is None else budget.kilobytes * KILOBYTE
        if self.size_bytes > most_bytes:
            return False
        if budget.microseconds is None:
            return True
        return self.microseconds is not None and self.microseconds <= budget.microseconds


def flags(budget: Budget) -> str:
    """The options of the command that set the limits which this budget has."""
    limits = {"--budget-kb": budget.kilobytes, "--budget-us": budget.microseconds}
    return ", ".join(flag for flag, limit in limits.items() if limit is not None)


class Bill:
    """What any of a program's monitors cost together: what they share counts once."""

    def __init__(self, program: Program, times: OpTimes | None) -> None:
        self.times = times
        self._program = program
        first = len(program.taps)
        self._items = [self._cost(0, timing.of_tap(t)) for t in program.taps]
        self._uses = [frozenset([i]) for i in range(first)]
        for index, node in enumerate(program.nodes, first):
            inputs = [program.value(i) for i in node.inputs]
            self._items.append(self._cost(flat.node_bytes(node), timing.of_node(node, inputs)))
            self._uses.append(frozenset([index]).union(*(self._uses[i] for i in node.inputs)))

    def together(self, monitors: Iterable[int] | None = None) -> Cost:
        """What the monitors with these positions (default: all) cost as a program of their own."""
        program = self._program
        chosen = range(len(program.monitors)) if monitors is None else sorted(set(monitors))
        scores = (program.monitors[i].score for i in chosen)
        used = self._uses[program.predicted].union(*(self._uses[s] for s in scores))
        records = flat.MONITOR_RECORD.size * len(chosen)
        total = self._cost(records, {"evaluation": 1, "node": len(chosen)})
        for index in sorted(used):  # always in one order, so that sums of floats repeat
            total += self._items[index]
        return total

    def without_evaluation(self) -> Cost:
        """What the nodes and monitors cost where another program is evaluated anyway."""
        first, monitors = len(self._program.taps), len(self._program.monitors)
        total = self._cost(flat.MONITOR_RECORD.size * monitors, {"node": monitors})
        for item in self._items[first:]:
            total += item
        return total

    def _cost(self, size_bytes: int, parts: Parts) -> Cost:
        return Cost(size_bytes, None if self.times is None else self.times.of(parts))


def steps(program: Program) -> dict[str, int]:
    """Most steps of one evaluation, by op, in the order of the program."""
    found: dict[str, int] = {}
    for node in program.nodes:
        count = OPS[node.op].steps(node, program.value(node.inputs[0]))
        found[node.op] = found.get(node.op, 0) + count
    return found


def work(program: Program) -> int:
    """Element operations of an evaluation, as ``em_work`` states them (FORMAT.md, section 7.12):
    all steps, and a look through each float tap."""
    looked_through = sum(t.length for t in program.taps if t.dtype == "float32")
    return looked_through + sum(steps(program).values())
