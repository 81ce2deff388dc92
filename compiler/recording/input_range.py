"""How an integer input is filled: what is clipped, and how much of its range is used.

Pixels that were not scaled, or scaled twice, still give an answer: they saturate, or all lie beside
the least code.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import measured as schema
from edgemon.runtime.errors import NotFiniteError
from edgemon.runtime.preprocess import FLOAT_INPUTS, InputSpec, Preprocess, to_codes

MUCH_CLIPPED = 0.01  # a model that was quantised on alike data clips less
LITTLE_USED = 1 / 16
MOST_BITS = 16  # of an input whose codes are counted
OUTER = 0.001  # of the values, at either end, that do not count as use


@dataclass(frozen=True)
class InputRange:
    """How an integer input is filled: the share of values that were ``clipped``, the share of its
    ``range`` (real values) between the outer values, and what was ``given`` (real values).
    """

    clipped_share: float
    used_share: float
    range: tuple[float, float]
    given: tuple[float, float]

    def to_json(self) -> schema.InputRange:
        return cast(schema.InputRange, asdict(self))


def measure(
    images: Iterable[npt.NDArray[Any]], preprocess: Preprocess, spec: InputSpec
) -> InputRange | None:
    """How images fill an input; None where it takes floats or tokens, of which no range is
    known, or integers of more than 16 bits, which hold whatever they are given."""
    if spec.dtype in FLOAT_INPUTS or spec.takes_tokens or np.iinfo(spec.dtype).bits > MOST_BITS:
        return None
    low, high = np.iinfo(spec.dtype).min, np.iinfo(spec.dtype).max
    counts = np.zeros(high - low + 1, np.int64)  # of the codes as the input takes them
    clipped, ends = 0, []
    for image in images:
        try:
            codes = to_codes(image, preprocess, spec).ravel()
        except NotFiniteError:
            continue
        inside = np.clip(codes, low, high).astype(np.int64)
        counts += np.bincount(inside - low, minlength=len(counts))
        clipped += int((inside != codes).sum())
        ends += [float(codes.min()), float(codes.max())]
    if not ends:
        return None
    values = int(counts.sum())
    places = np.rint(np.array([OUTER, 1 - OUTER]) * (values - 1))
    outer = np.searchsorted(np.cumsum(counts), places, "right")

    def real(code: float) -> float:
        return (code - spec.zero_point) * spec.scale if spec.scale else code

    return InputRange(
        clipped / values,
        float((outer[1] - outer[0]) / (high - low)),
        (real(float(low)), real(float(high))),
        (real(min(ends)), real(max(ends))),
    )


def problems(found: schema.InputRange | None) -> list[tuple[str, str]]:
    """What is wrong with a range (as JSON), by kind."""
    if found is None:
        return []
    (low, high), (first, last) = found["range"], found["given"]
    between = f"the model's input takes {low:.4g} to {high:.4g}, and is given {first:.4g} to "
    said = []
    if found["clipped_share"] > MUCH_CLIPPED:
        said.append((
            "clipped_input",
            f"{found['clipped_share']:.1%} of the input's values are clipped: {between}{last:.4g}. "
            "Check --preprocess and the data.",
        ))  # fmt: skip
    if found["used_share"] < LITTLE_USED:
        said.append((
            "narrow_input",
            f"The input's values lie in {found['used_share']:.1%} of its range: {between}"
            f"{last:.4g}. Check --preprocess and the data: perhaps they are scaled twice.",
        ))  # fmt: skip
    return said
