"""The kernel sets under which thresholds are certified, and what changes under each.

A TFLite model runs on XNNPACK, on the interpreter's own optimised kernels, or on its reference
kernels, from which TFLite Micro's descend; an ONNX model runs on ONNX Runtime only.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import cast

import numpy as np

from edgemon.compiler.documents import measured as schema
from edgemon.compiler.errors import CompileError
from edgemon.compiler.last_bits.code_errors import Changes
from edgemon.compiler.models.kernels import require_kernels
from edgemon.compiler.models.model import Model
from edgemon.compiler.program.ir import Program
from edgemon.compiler.recording.evaluation import blocks, evaluate
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.tflite_classifier import KERNELS


@dataclass(frozen=True)
class KernelSet:
    """The same rows under a kernel set, against the target's own."""

    kernels: str
    rows: int
    values_changed: float  # share of the taps' values
    largest_lsb: int | None  # difference of an integer tap; None without one
    changes: Changes
    accuracy: float
    false_alarm_rate: float | None  # of the verdict, on what the model gets right under this set

    def to_json(self) -> schema.KernelSet:
        return cast(schema.KernelSet, asdict(self))


def parse(text: str, model: Model, own: str) -> tuple[str, ...]:
    """The kernel sets of ``--certify-kernels``, the target's own first. Raises CompileError."""
    wanted = require_kernels(text)
    if wanted and model.kernels(own) not in KERNELS:
        raise CompileError(
            f"--certify-kernels {text}: {model.origin} runs on one kernel set only, "
            f"{model.kernels(own)}; leave the option out"
        )
    return tuple(dict.fromkeys((own, *wanted)))


def compare(
    program: Program, judges: int, kernels: str, own: Recording, other: Recording
) -> KernelSet:
    """A kernel set against the target's own, on two recordings of the same rows."""
    changed = values = 0
    largest = None
    for pairs in zip(blocks(program, own), blocks(program, other), strict=True):
        for a, b in zip(*pairs, strict=True):
            changed, values = changed + int((a != b).sum()), values + a.size
            if a.dtype.kind != "f":
                distance = np.abs(a.astype(np.int32) - b.astype(np.int32))
                largest = max(largest or 0, int(distance.max(initial=0)))
    before, after = evaluate(program, own), evaluate(program, other)
    right = other.correct
    alarm = after.verdict[right] != Verdict.TRUST
    return KernelSet(
        kernels, len(own), changed / values, largest,
        Changes.between(program, judges, before, after),
        float(right.mean()), float(alarm.mean()) if right.any() else None,
    )  # fmt: skip
