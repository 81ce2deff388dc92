"""What scores have in common: features of several layers as one vector, logits, log-odds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program.ir import DEVIATION, MEAN, Builder, Tap
from edgemon.compiler.program.ops.dense import WIDEST_AFFINE
from edgemon.compiler.program.ops.op import TAP_BITS
from edgemon.compiler.program.ops.tables import width
from edgemon.compiler.recording.recording import BLOCK_ELEMENTS, Recording

SHORT_WEIGHTS, WIDE_WEIGHTS = 2, 4  # bytes: of integers, of floats
LEAST_PROBABILITY = 2.0**-40  # is added to each, so that 0 has a logarithm

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Block:
    """Features of one tap: its elements, the logarithms of its probabilities, or of a feature map a
    statistic of each channel, means also in each of several bands of rows."""

    tap: Tap
    statistic: str = MEAN
    bands: int = 1

    def values(self, recording: Recording, rows: npt.ArrayLike | None = None) -> Floats:
        """(n, ``width``): same as ``lower``."""
        x = recording.features(self.tap.name, rows, self.statistic, self.bands)
        return np.log(x + LEAST_PROBABILITY) if self.logarithms else x

    def lower(self, builder: Builder) -> int:
        """Value id of the features."""
        id_ = builder.features(self.tap.name, self.statistic, self.bands)
        if not self.logarithms:
            return id_
        return _log_probabilities(builder, id_, whole=self.tap.dtype != "float32")

    @property
    def width(self) -> int:
        return self.bands * self.tap.width

    @property
    def whole(self) -> bool:
        """Are they whole numbers, which are weighed as they are?"""
        return self.weight_bytes == SHORT_WEIGHTS

    @property
    def weight_bytes(self) -> int:
        """Bytes of a weight of these features, at least."""
        if self.logarithms:
            return WIDE_WEIGHTS
        summed = self.tap.length // self.width if self.statistic == MEAN else 1
        return bytes_of_weight(self.tap, summed)

    @property
    def logarithms(self) -> bool:
        return self.tap.probabilities and self.tap.length > 1


def bytes_of_weight(tap: Tap, summed: int) -> int:
    """Bytes of a weight of sums of so many elements, at least: wide sums of codes become floats."""
    narrow = tap.dtype != "float32" and TAP_BITS[tap.dtype] + width(summed) <= WIDEST_AFFINE
    return SHORT_WEIGHTS if narrow else WIDE_WEIGHTS


def blocks_of(taps: Sequence[Tap], *, logits: str = "", bands: int = 1) -> tuple[Block, ...]:
    """What there is to learn from these taps: of a feature map the means of its channels, in at
    most so many bands of its rows, and their deviations. Means that another tap holds, the output
    of a pooling, are read there, unless bands hold them. The tap ``logits`` may hold
    probabilities."""
    found: list[Block] = []
    maps = [t for t in taps if t.channels]
    for tap in taps:
        if not tap.channels:
            if not any(_bands(m, bands) > 1 and _pooled(tap, m) for m in maps):
                kept = tap if tap.name == logits else replace(tap, probabilities=False)
                found.append(Block(kept))
            continue
        parts = _bands(tap, bands)
        if parts > 1 or not any(_pooled(t, tap) for t in taps):
            found.append(Block(tap, MEAN, parts))
        found.append(Block(tap, DEVIATION))
    return tuple(found)


def _pooled(tap: Tap, of: Tap) -> bool:
    """Does the tap hold the means of this map?"""
    return (tap.means_of, tap.view) == (of.tensor, of.view)


def _bands(tap: Tap, most: int) -> int:
    """The largest number of bands with equally many rows each."""
    return max(n for n in range(1, most + 1) if n == 1 or (tap.map_rows and tap.map_rows % n == 0))


def joined_values(
    recording: Recording, taps: Sequence[str], dtype: npt.DTypeLike = np.float64
) -> Floats:
    """(n, width): the features of all taps side by side; same as ``joined``. Trees learn from
    float32."""
    return values_of(recording, _blocks(recording.taps, taps), dtype)


def values_of(
    recording: Recording, blocks: Sequence[Block], dtype: npt.DTypeLike = np.float64
) -> Floats:
    """(n, width): blocks side by side."""
    whole = np.empty((len(recording), sum(b.width for b in blocks)), dtype)
    step = max(1, BLOCK_ELEMENTS // max(1, whole.shape[1]))
    for start in range(0, len(whole), step):  # all taps beside the whole would be as much again
        rows = np.arange(start, min(start + step, len(whole)))
        np.concatenate(
            [block.values(recording, rows) for block in blocks], axis=1,
            out=whole[start : start + step], casting="same_kind",
        )  # fmt: skip
    return whole


def joined(builder: Builder, taps: Sequence[str]) -> int:
    """Value id of the features of all taps as one vector."""
    first, *others = (b.lower(builder) for b in _blocks(builder.taps, taps))
    for other in others:
        first = builder.node("concat", first, other)
    return first


def _blocks(known: Sequence[Tap], names: Sequence[str]) -> list[Block]:
    """Of feature maps the means."""
    taps = {tap.name: replace(tap, probabilities=False) for tap in known}
    return [Block(taps[name]) for name in names]


def logits_of(builder: Builder, tap: str, predicted: int) -> int:
    """Value id of one logit a class; of probabilities their logarithms, whose differences are
    log-odds as those of logits are. One unit in front of its sigmoid is the logit of class 1
    against a 0 for class 0, and so is an output without a sigmoid. What is left of it above the
    value at which the model decides (``models.decision``) takes that place, so that the larger
    logit is that of the predicted class."""
    id_ = builder.tap(tap)
    probabilities = builder.taps[id_].probabilities
    whole = builder.taps[id_].dtype != "float32"
    if builder.value(id_).length > 1:
        return _log_probabilities(builder, id_, whole=whole) if probabilities else id_
    (output,) = builder.nodes[predicted - len(builder.taps)].inputs
    at = builder.taps[output].decides_above
    if probabilities and 0 < at < 1:
        both = [np.array([-1.0, 1.0]), np.array([1.0, 0.0])]
        logs = _log_probabilities(builder, builder.node("affine", id_, tables=both), whole=whole)
        shifted = [np.eye(2).ravel(), np.array([0.0, -_logit(at)])]
        return builder.node("affine", logs, tables=shifted)
    bias = np.array([0.0, -_decides_at(builder.taps[output], is_output=id_ == output)])
    return builder.node("affine", id_, tables=[np.array([0.0, 1.0]), bias])


def _log_probabilities(builder: Builder, p: int, *, whole: bool) -> int:
    """Value id of ``log(p + LEAST_PROBABILITY)``: forests answer 0, which has no logarithm."""
    return builder.node("log", plus(builder, p, LEAST_PROBABILITY, whole=whole))


def plus(builder: Builder, x: int, amount: float, *, whole: bool = False) -> int:
    """Value id of ``x + amount``, where the largest of x is above ``-amount``. ``whole``: x are
    whole numbers of the device, none of which may be the amount: then it is added to floats."""
    above = builder.node("max", x)
    if whole:
        above = builder.node("mul", above, above)  # a float, and still above any negative number
    negative = builder.node("clip", above, tables=[np.array([-amount])])
    return builder.node("sub", x, negative)


def logits_values(recording: Recording, tap: str) -> Floats:
    """(n, classes): same as ``logits_of``."""
    values = recording.values(tap)
    probabilities = recording.tap(tap).probabilities
    if values.shape[1] > 1:
        return np.log(values + LEAST_PROBABILITY) if probabilities else values
    output = recording.taps[0]
    if probabilities and 0 < output.decides_above < 1:
        logs = np.log(np.concatenate([1 - values, values], axis=1) + LEAST_PROBABILITY)
        return np.asarray(logs - np.array([0.0, _logit(output.decides_above)]))
    shift = _decides_at(output, is_output=tap == output.name)
    return np.concatenate([np.zeros_like(values), values - shift], axis=1)


def _decides_at(output: Tap, *, is_output: bool) -> float:
    """Where the model decides, on the scale of its output or of the logit in front of it."""
    at = output.decides_above
    return _logit(at) if not is_output and 0 < at < 1 else at


def _logit(probability: float) -> float:
    return math.log(probability / (1 - probability))


def softmax_odds(builder: Builder, tap: str, predicted: int, temperature: float = 1.0) -> int:
    """Value id of (1 - max p) / max p, p the softmax of logits / temperature: the order of
    1 - max p, with full resolution where p is near 1."""
    logits = logits_of(builder, tap, predicted)
    d = builder.node("sub", logits, builder.node("max", logits))
    if temperature != 1:
        d = builder.node("scale", d, tables=[np.array([1 / temperature])])
    e = builder.node("exp", d)
    return builder.node("sum", builder.node("omit", e, builder.node("argmax", logits)))


def negated(builder: Builder, x: int) -> int:
    """Value id of ``-x``."""
    length = builder.value(x).length
    return builder.node("affine", x, tables=[-np.eye(length).ravel(), np.zeros(length)])


def log_odds_against(builder: Builder, scores: int, predicted: int) -> int:
    """Value id of the log-odds (nats) that another class is the right one, where ``scores`` are
    unnormalised log-probabilities, one a class."""
    e = builder.node("exp", builder.node("sub", scores, builder.node("max", scores)))
    if builder.is_argmax(predicted):
        others = builder.node("sum", builder.node("omit", e, predicted))
    else:  # one output unit: of two classes, the other one
        exchanged = builder.node("gather", e, tables=[np.array([1, 0], np.uint32)])
        others = builder.node("select", exchanged, predicted)
    own = builder.node("select", e, predicted)
    return builder.node("sub", builder.node("log", others), builder.node("log", own))
