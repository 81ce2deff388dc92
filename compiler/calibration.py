"""Setting the thresholds of a device program on its own scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.evaluation import evaluate
from edgemon.compiler.ir import Builder, Monitor, Program
from edgemon.compiler.recording import Recording
from edgemon.compiler.thresholds import Target

Array = npt.NDArray[Any]

LARGEST_WHOLE = 1 << 30  # of table entries
F32_WHOLE = 23  # bits of the whole numbers that stand for float thresholds


def set_thresholds(
    program: Program, wanted: Sequence[bool], rows: Sequence[Recording], target: Target
) -> Program:
    """The program with thresholds that keep to the target on held-out rows.

    ``wanted`` speaks of the first monitors; the others stay as they are. With ``per_class`` a
    monitor's score becomes its excess over the threshold of the predicted class. Of several
    recordings, one a kernel set, each gives its thresholds, and the strictest keep to the target
    under all of them.
    """
    if not any(wanted):
        return program
    each = [_thresholds(program, wanted, recording, target) for recording in rows]
    monitors = list(program.monitors)
    grown = _Grown(program)
    for i, calibrates in enumerate(wanted):
        if not calibrates:
            continue
        by_class = [target.strictest(found) for found in zip(*(e[i] for e in each), strict=True)]
        if target.per_class:
            monitors[i] = grown.excess(monitors[i], by_class)
        else:
            (threshold,) = by_class
            monitors[i] = replace(monitors[i], alarm_above=threshold, uncertain_above=threshold)
    return grown.builder.program(program.predicted, monitors)


def _thresholds(
    program: Program, wanted: Sequence[bool], rows: Recording, target: Target
) -> list[list[Any]]:
    """Of each monitor that is wanted: the threshold of each class, or a single one."""
    concerned = rows.take(np.flatnonzero(target.concerns(rows.correct)))
    if target.per_class:
        _require_rows(concerned, target)
        groups = [np.flatnonzero(concerned.predicted == c) for c in range(rows.n_classes)]
    else:
        groups = [np.arange(len(concerned))]
    found = evaluate(program, concerned) if len(concerned) else None
    result: list[list[Any]] = []
    for i, calibrates in enumerate(wanted):
        scores = np.empty(0, np.int64) if found is None else found.scores[i]
        result.append([target.threshold(scores[own]) for own in groups] if calibrates else [])
    return result


def _require_rows(rows: Recording, target: Target) -> None:
    counts = np.bincount(rows.predicted, minlength=rows.n_classes)
    few = np.flatnonzero(counts < target.rows_needed)
    if few.size:
        shown = ", ".join(f"class {c}: {counts[c]}" for c in few[:8])
        raise CompileError(
            f"a rate of {target.rate:.3g} at confidence {target.confidence:.3g} in each class "
            f"needs {target.rows_needed} correct threshold rows of each predicted class, but there "
            f"are fewer of {len(few)} ({shown}): give more rows (--calibrate), ask for less, or do "
            "without --per-class"
        )


class _Grown:
    """A device program with more nodes; what was there keeps its ids."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.builder = Builder(program.taps)
        for node in program.nodes:
            self.builder.node(node.op, *node.inputs, tables=node.tables)

    def excess(self, monitor: Monitor, thresholds: Sequence[float]) -> Monitor:
        """The monitor with its score minus the predicted class's threshold. A float threshold is
        raised to the next number that whole numbers can stand for, which keeps the promise."""
        b = self.builder
        values = np.array(thresholds)
        if b.value(monitor.score).dtype != "float32" and np.abs(values).max() <= LARGEST_WHOLE:
            score = b.node("add", monitor.score, self._looked_up(-values))
        else:
            score = b.node("sub", *self._floats(monitor.score, values.astype(np.float32)))
        return replace(
            monitor, score=score, alarm_above=0, uncertain_above=0, display="linear"
        )  # fmt: skip

    def _floats(self, score: int, values: npt.NDArray[np.float32]) -> tuple[int, int]:
        """Score and threshold of the predicted class as floats."""
        b = self.builder
        no_zero = np.zeros(1, np.int32)
        if b.value(score).dtype != "float32":
            score = b.node("to_f32", score, tables=[np.ones(1, np.float32), no_zero])
        largest = max(float(np.abs(values).max()), float(np.finfo(np.float32).tiny))
        unit = 2.0 ** (np.ceil(np.log2(largest)) - F32_WHOLE)
        codes = self._looked_up(np.ceil(values.astype(np.float64) / unit))
        return score, b.node("to_f32", codes, tables=[np.array([unit], np.float32), no_zero])

    def _looked_up(self, values: Array) -> int:
        tables = [values.astype(np.int32), np.zeros(1, np.int32)]
        return self.builder.node("lut", self.program.predicted, tables=tables)
