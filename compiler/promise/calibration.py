"""Setting the thresholds of a device program on its own scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.groups import Indices, joined, one_of_each
from edgemon.compiler.errors import CompileError
from edgemon.compiler.program.ir import Builder, Monitor, Program
from edgemon.compiler.promise.thresholds import Promise
from edgemon.compiler.recording.evaluation import evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.evaluation import Evaluation, Verdict

Array = npt.NDArray[Any]

LARGEST_WHOLE = 1 << 30  # of table entries
FAULT = 1 << 62  # above every whole score


def find_thresholds(
    program: Program, wanted: Sequence[bool], rows: Sequence[Recording], promise: Promise,
    class_names: Sequence[str] = (),
) -> list[list[Any]]:  # fmt: skip
    """Raw thresholds that keep to the promise on held-out rows: those that are wanted together, or
    each by itself, as the promise says.

    Of each monitor that is wanted a single one, or with ``per_class`` one of each predicted class;
    of the others none. ``wanted`` speaks of the first monitors. Of several recordings, one a kernel
    set, each gives its thresholds, and the strictest keep to the promise under all of them.
    ``class_names`` of the model's classes, for messages.
    """
    if not any(wanted):
        return [[] for _ in wanted]
    each = [_thresholds(program, wanted, recording, promise, class_names) for recording in rows]
    return [
        [promise.strictest(found) for found in zip(*under_each, strict=True)]
        for under_each in zip(*each, strict=True)
    ]


def set_thresholds(
    program: Program, thresholds: Sequence[Sequence[Any]], *, per_class: bool
) -> Program:
    """The program with these thresholds of its first monitors; those without stay as they are.
    With ``per_class`` a score becomes its excess over the threshold of the predicted class."""
    monitors = list(program.monitors)
    grown = _Grown(program)
    for i, of_classes in enumerate(thresholds):
        if not of_classes:
            continue
        if per_class:
            monitors[i] = grown.excess(monitors[i], of_classes)
        else:
            (threshold,) = of_classes
            monitors[i] = replace(monitors[i], alarm_above=threshold, uncertain_above=threshold)
    return grown.builder.program(program.predicted, monitors)


def drawn(rows: Recording, promise: Promise, seed: int) -> Recording:
    """The rows that a threshold is set on: of rows in groups, one of each group, see
    ``independent``; without groups all rows."""
    return rows if rows.groups is None else rows.take(independent(rows, promise, seed))


def independent(rows: Recording, promise: Promise, seed: int) -> Indices:
    """One row of each group that the promise concerns (and of each predicted class, where it is by
    class), drawn by seed. Order statistics need exchangeable rows: those of a group are not,
    these are. Without groups all that it concerns."""
    concerned = np.flatnonzero(promise.concerns(rows.correct))
    if rows.groups is None:
        return concerned
    groups = rows.groups[concerned]
    if promise.per_class:
        groups = joined([groups, rows.predicted[concerned].astype(np.int64)])
    return concerned[one_of_each(groups, seed, rows.rows[concerned])]


def enough(rows: Recording, promise: Promise, monitors: int) -> bool:
    """Are these rows, as they were drawn, enough to set thresholds of so many monitors, or those
    of each class?"""
    concerned = promise.concerns(rows.correct)
    needed = promise.of_one_class(rows.n_classes).rows_needed(monitors)
    if not promise.per_class:
        return int(concerned.sum()) >= needed
    counts = np.bincount(rows.predicted[concerned], minlength=rows.n_classes)
    return int(counts.min()) >= needed


def _thresholds(
    program: Program, wanted: Sequence[bool], rows: Recording, promise: Promise,
    class_names: Sequence[str],
) -> list[list[Any]]:  # fmt: skip
    """A threshold for each class, or a single one, of each monitor that is wanted."""
    concerned = rows.take(np.flatnonzero(promise.concerns(rows.correct)))
    which = [i for i, calibrates in enumerate(wanted) if calibrates]
    if promise.per_class:
        _require_rows(concerned, promise, len(which), class_names)
        groups = [np.flatnonzero(concerned.predicted == c) for c in range(rows.n_classes)]
    else:
        if rows.groups is not None:
            _require_groups(len(concerned), promise, len(which))
        groups = [np.arange(len(concerned))]
    found = evaluate(program, concerned) if len(concerned) else None
    none = np.empty(0, np.int64)
    scores = [none if found is None else with_faults(found, i) for i in which]
    result: list[list[Any]] = [[] for _ in wanted]
    for own in groups:
        for i, threshold in zip(which, _of_one(promise, rows.n_classes, scores, own), strict=True):
            if threshold >= FAULT if isinstance(threshold, int) else not np.isfinite(threshold):
                raise CompileError(
                    f"{program.monitors[i].name}: more threshold rows are faults, its score being "
                    "no finite number, than the promise admits as alarms; leave this monitor out"
                )
            result[i].append(threshold)
    return result


def _of_one(
    promise: Promise, classes: int, scores: Sequence[Array], rows: npt.NDArray[np.int64]
) -> list[Any]:
    """A threshold for each score (n,), from the rows of one class, or from all."""
    own = promise.of_one_class(classes)
    taken = [s[rows] for s in scores]
    if own.whose == "verdict":
        return own.thresholds(taken)
    return [own.thresholds([s])[0] for s in taken]


def with_faults(found: Evaluation, monitor: int) -> Array:
    """Scores (n,) with those of faults, which count as alarms, above all others."""
    scores, fault = found.scores[monitor], found.verdicts[:, monitor] == Verdict.FAULT
    if not fault.any():
        return scores
    wide = scores if scores.dtype.kind == "f" else scores.astype(np.int64)
    return np.where(fault, wide.dtype.type(np.inf if wide.dtype.kind == "f" else FAULT), wide)


def _require_groups(count: int, promise: Promise, monitors: int) -> None:
    needed = promise.rows_needed(monitors)
    if count < needed:
        raise CompileError(
            f"a rate of {promise.of} of {promise.rate:.3g} at confidence {promise.confidence:.3g} "
            f"needs {needed} groups with {promise.answers} threshold rows, of each of "
            f"which one row counts, but there are {count}: give rows of more groups (--calibrate), "
            "or ask for less"
        )


def _require_rows(
    rows: Recording, promise: Promise, monitors: int, class_names: Sequence[str]
) -> None:
    what = "" if rows.groups is None else "groups with "
    counts = np.bincount(rows.predicted, minlength=rows.n_classes)
    needed = promise.of_one_class(rows.n_classes).rows_needed(monitors)
    few = np.flatnonzero(counts < needed)
    if few.size:
        names = class_names or [f"class {c}" for c in range(rows.n_classes)]
        shown = ", ".join(f"{names[c]}: {counts[c]}" for c in few[:8])
        raise CompileError(
            f"a rate of {promise.rate:.3g} at confidence {promise.confidence:.3g} in "
            f"{promise.per_class} class needs {needed} {what}correct threshold rows of each "
            f"predicted class, but there are fewer of {len(few)} ({shown}): give more rows "
            "(--calibrate), ask for less, or do without --per-class"
        )


class _Grown:
    """A device program with more nodes; what was there keeps its ids."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.builder = Builder(program.taps)
        for node in program.nodes:
            self.builder.node(node.op, *node.inputs, tables=node.tables)

    def excess(self, monitor: Monitor, thresholds: Sequence[float]) -> Monitor:
        """The monitor with its score minus the predicted class's threshold, exactly."""
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
        if b.value(score).dtype != "float32":
            one = [np.ones(1, np.float32), np.zeros(1, np.int32)]
            score = b.node("to_f32", score, tables=one)
        # A table of constants: nothing of the score, plus the threshold of each class.
        tables = [np.zeros(len(values), np.float32), values + np.float32(0)]
        each = b.node("affine", score, tables=tables)
        return score, b.node("select", each, self.program.predicted)

    def _looked_up(self, values: Array) -> int:
        tables = [values.astype(np.int32), np.zeros(1, np.int32)]
        return self.builder.node("lut", self.program.predicted, tables=tables)
