"""How much the verdicts depend on the last bits of the taps.

Other kernels and other devices round differently: the same int8 model then gives codes that differ
by a few LSB, the steps of a tap's grid. This module adds such errors to recorded codes and counts
the verdicts that flip; ``kernel_sets`` compares the kernel sets that run here.

Errors are added to every integer tap, the model's output included, as other kernels change that
too: so the predicted class may change, which is counted by itself. The taps' errors are
independent, although an output follows from its logits, so that flips are rather too many than
too few. Float taps stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import measured as schema
from edgemon.compiler.program.ir import Program
from edgemon.compiler.recording.evaluation import blocks, evaluate, evaluate_blocks
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.evaluation import Evaluation, Verdict

Array = npt.NDArray[Any]

MOST_ROWS = 2000
LSB = (1, 2, 3)  # sizes of errors
Draw = Callable[[np.random.Generator, int, tuple[int, ...]], Array]
ERRORS: dict[str, Draw] = {
    "random": lambda rng, k, shape: rng.integers(-k, k + 1, shape),
    "all up": lambda _, k, shape: np.full(shape, k),
    "all down": lambda _, k, shape: np.full(shape, -k),
}


@dataclass(frozen=True)
class Flips:
    """Rows that are trusted before and not after, and the other way round."""

    to_alarm: int
    to_trust: int

    @classmethod
    def between(cls, before: Array, after: Array) -> Flips:
        """From verdicts (n,) before and after; an uncertain one and a fault count as alarms."""
        a, b = before != Verdict.TRUST, after != Verdict.TRUST
        return cls(int((~a & b).sum()), int((a & ~b).sum()))


@dataclass(frozen=True)
class Changes:
    """Rows that differ between two evaluations of the same rows."""

    classes: int  # predicted
    verdict: Flips
    monitors: dict[str, Flips]

    @classmethod
    def between(
        cls, program: Program, judges: int, before: Evaluation, after: Evaluation
    ) -> Changes:
        """``judges``: how many of the first monitors are judged by themselves."""
        return cls(
            int((before.predicted != after.predicted).sum()),
            Flips.between(before.verdict, after.verdict),
            {
                m.name: Flips.between(before.verdicts[:, i], after.verdicts[:, i])
                for i, m in enumerate(program.monitors[:judges])
            },
        )


@dataclass(frozen=True)
class Effect:
    """What errors of one size and kind change."""

    lsb: int
    error: str  # one of ERRORS
    changes: Changes


@dataclass(frozen=True)
class CodeErrors:
    """What errors of integer taps change on some rows."""

    rows: int
    seed: int
    taps: tuple[str, ...]  # to which errors are added
    effects: tuple[Effect, ...]

    def to_json(self) -> schema.CodeErrors:
        return cast(schema.CodeErrors, asdict(self))


def sample(rows: Recording, seed: int) -> Recording:
    """A bounded number of the rows, in their order."""
    chosen = np.random.default_rng(seed).permutation(len(rows))[:MOST_ROWS]
    return rows.take(np.sort(chosen))


def measure(program: Program, rows: Recording, judges: int, seed: int = 0) -> CodeErrors | None:
    """What errors of 1 to 3 LSB in the integer taps change; None without such a tap."""
    integer = tuple(t.name for t in program.taps if t.dtype != "float32")
    if not integer:
        return None
    before = evaluate(program, rows)
    effects = []
    for k in LSB:
        for error, draw in ERRORS.items():
            rng = np.random.default_rng([seed, k])
            after = evaluate_blocks(program, _moved(blocks(program, rows), draw, k, rng))
            effects.append(Effect(k, error, Changes.between(program, judges, before, after)))
    return CodeErrors(len(rows), seed, integer, tuple(effects))


def _moved(
    rows: Iterator[list[Array]], draw: Draw, k: int, rng: np.random.Generator
) -> Iterator[list[Array]]:
    """The codes with errors, which saturate at the ends of their type."""
    for taps in rows:
        moved = []
        for codes in taps:
            if codes.dtype.kind != "f":
                info = np.iinfo(codes.dtype)
                wide = codes.astype(np.int32) + draw(rng, k, codes.shape)
                codes = np.clip(wide, info.min, info.max).astype(codes.dtype)
            moved.append(codes)
        yield moved
