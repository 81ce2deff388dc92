"""What programs compute on recorded rows, by the reference."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Program
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.evaluation import Evaluation

BLOCK = 2048  # rows evaluated at a time, fewer of long taps
BLOCK_ELEMENTS = 1 << 22


def blocks(program: Program, rows: Recording) -> Iterator[list[npt.NDArray[Any]]]:
    """The program's taps over all rows, in blocks."""
    step = max(1, min(BLOCK, BLOCK_ELEMENTS // sum(t.length for t in program.taps)))
    for start in range(0, len(rows), step):
        index = np.arange(start, min(start + step, len(rows)))
        yield [np.asarray(rows.codes(t.name, index)) for t in program.taps]


def evaluate(program: Program, rows: Recording) -> Evaluation:
    """The reference's results for all rows."""
    return evaluate_blocks(program, blocks(program, rows))


def evaluate_blocks(program: Program, rows: Iterable[list[npt.NDArray[Any]]]) -> Evaluation:
    """The reference's results for rows that come in blocks, an array (n, length) a tap."""
    parts = [reference.evaluate(program, taps) for taps in rows]
    if not parts:
        raise CompileError("no rows to evaluate")
    return Evaluation.joined(parts)


def predicted_class(builder: Builder, output: int) -> int:
    """The class node: the argmax, or of one output unit whether it exceeds its threshold."""
    if builder.value(output).length == 1:
        threshold = builder.taps[output].decides_above
        return builder.node("exceeds", output, tables=[np.array([threshold])])
    return builder.node("argmax", output)
