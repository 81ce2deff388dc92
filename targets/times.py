"""How long the parts of an evaluation take on a target: the table ``[nanoseconds]`` of a profile.

The keys are counted by ``edgemon.compiler.cost.timing`` and measured by ``edgemon op-times``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgemon.targets.errors import TargetError

PARTS: dict[str, str] = {
    "evaluation": "one evaluation, whatever the program",
    "node": "one node, tap or monitor: to find its data and to call its kernel",
    "row": "the start of an inner loop: of a row of integers, a box, a pattern",
    "sum": "the start of a sum of floats",
    "ragged": "what a sum of 9 to 64 floats costs more if their number is not a multiple of four",
    "check": "an element of a float tap, looked at for a NaN",
    "byte": "an element of 8-bit integers, one by one",
    "scalar": "an element of wider integers, or of a search for the largest float",
    "vector": "an element of floats that are copied, added, multiplied; of bytes in squared_error",
    "exp": "an exponential",
    "log": "a logarithm",
    "logsumexp": "an exponential in logsumexp",
    "affine_int": "a product of integers of up to 16 bits in affine",
    "affine_wide": "a product of wider integers in affine",
    "affine_float": "a product of floats in affine",
    "reduce_int": "an element of a byte tap in reduce, of channels side by side",
    "reduce_scalar": "an element of other integers in reduce and in squared_error",
    "reduce_float": "an element of floats in reduce",
    "long_sum": "what a term of more than 64 floats costs beside its own time",
    "distances": "a dimension of a centre in distances",
    "kernels": "a dimension of a kernel in kernels",
    "tables": "a look-up in tables",
    "boxes_int": "a dimension of a box over integers",
    "boxes_float": "a dimension of a box over floats",
    "trees": "a step in one of four trees that go side by side",
    "tree": "a step in the deepest of the trees that are left over",
    "perfect": "a step in trees whose leaves all have one depth",
    "hamming": "a word of a pattern in hamming",
}
MOST = 1e6  # a millisecond for one step is no measurement


@dataclass(frozen=True)
class OpTimes:
    """Nanoseconds of each of ``PARTS``."""

    nanoseconds: Mapping[str, float]

    @classmethod
    def from_toml(cls, table: Any, where: str) -> OpTimes:
        """A table ``[nanoseconds]``. Raises TargetError, which begins with ``where``, unless it
        holds a number from 0 to ``MOST`` for each of ``PARTS`` and nothing else."""
        if not isinstance(table, dict):
            raise TargetError(
                f"{where}: nanoseconds must be a table; see `edgemon op-times --toml`"
            )
        unknown = [key for key in table if key not in PARTS]
        missing = [key for key in PARTS if key not in table]
        if unknown or missing:
            what = f"unknown {unknown[0]!r}" if unknown else f"{missing[0]!r} is missing"
            raise TargetError(
                f"{where}: [nanoseconds]: {what}; paste what `edgemon op-times --toml` prints there"
            )
        for key, value in table.items():
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not (number and math.isfinite(value) and 0 <= value <= MOST):
                raise TargetError(
                    f"{where}: [nanoseconds] {key} = {value!r}: give a number from 0 to {MOST:g}"
                )
        return cls({key: float(table[key]) for key in PARTS})

    def of(self, counts: Mapping[str, float]) -> float:
        """Nanoseconds of so many of each part."""
        return sum(self.nanoseconds[key] * count for key, count in counts.items())
