"""Vectors of the power-on self-test, chosen so that damage to the artifact's tables is found.

A vector finds a flipped bit if a score, a verdict or the class of it changes. Sampled bits of DATA
are flipped, one a mutant; candidates are test rows and rows on thresholds (``neighbours``);
a greedy cover of what changes any verdict picks the vectors. Its score is measured on other flips
(mutation analysis, DeMillo, Lipton and Sayward 1978).
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import measured as schema
from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Program
from edgemon.compiler.program.neighbours import finite, neighbours
from edgemon.compiler.recording.recording import Recording
from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import MAX_WORK, SELF_TESTS, Monitor

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]

MOST_BYTES = 16384  # of inputs in self-test vectors; at least one vector is kept
MOST_VECTORS = 64  # of the format
MOST_FLIPS, FEWEST_FLIPS = 12000, 40
OPERATIONS = 1 << 32  # of all mutants on all candidates, some seconds at most
TEST_ROWS, NEIGHBOURS, BLOCKS = 256, 256, 32  # candidates, and the blocks that they are drawn from
WIDEST = 1 << 14  # elements of all taps, above which rows are not moved one element at a time
CRC_AT = 28  # in the header


@dataclass(frozen=True)
class MutationScore:
    """BitFlips that vectors were not chosen by: how many were tried, how many change a verdict or
    the class of a candidate row, and how many of these the self-test finds."""

    vectors: int
    flips: int
    harmful: int
    found: int

    @property
    def share(self) -> float | None:
        """None where no flip changes a verdict."""
        return self.found / self.harmful if self.harmful else None

    @property
    def sentence(self) -> str:
        if self.share is None:
            return f"self-test: none of {self.flips} flipped bits of the tables changes a verdict"
        return (
            f"self-test: {self.vectors} vectors find {self.share:.0%} of the flipped bits of the "
            f"tables that change a verdict ({self.found} of {self.harmful}; {self.flips} tried)"
        )

    def to_json(self) -> schema.SelfTest:
        return {
            "vectors": self.vectors, "flips": self.flips, "harmful": self.harmful,
            "found": self.found, "share": self.share,
        }  # fmt: skip

    @classmethod
    def of(cls, found: schema.SelfTest) -> MutationScore:
        """From the JSON of a manifest."""
        return cls(found["vectors"], found["flips"], found["harmful"], found["found"])


def choose(
    program: Program, on_test: Evaluation, rows: Recording, seed: int = 0
) -> tuple[flat.SelfTest, MutationScore]:
    """The vectors and their score. ``on_test``: the reference's results of the test rows (n).
    Where a tap is float, a row with a NaN is added."""
    rng = np.random.default_rng(seed)
    taps = _candidates(program, on_test, rows, rng)
    mutants = Mutants(program, taps, rng)
    most = MOST_BYTES // sum(t.length * np.dtype(t.dtype).itemsize for t in program.taps)
    floats = [i for i, t in enumerate(program.taps) if t.dtype == "float32"]
    affordable = SELF_TESTS * MAX_WORK // max(1, mutants.work)
    most = max(1, min(most, MOST_VECTORS - bool(floats), affordable - bool(floats)))
    chosen = _cover(mutants.learn, most)
    chosen = _filled(chosen, verdict_rows(on_test), most)
    score = mutants.held_out.score(chosen)
    vectors = [x[chosen] for x in taps]
    if floats:
        vectors = [np.concatenate([x, x[:1]]) for x in vectors]
        vectors[floats[0]][-1, -1] = np.nan
    return flat.SelfTest(tuple(vectors), reference.evaluate(program, vectors)), score


def verdict_rows(on_test: Evaluation) -> list[int]:
    """For each monitor a row of each verdict that occurs, the worst first."""
    chosen = {0}
    for column in on_test.verdicts.T:
        chosen |= {int(np.argmax(column == v)) for v in np.unique(column)}
    return sorted(chosen, key=lambda row: -int(on_test.verdict[row]))


def _filled(chosen: list[int], others: list[int], most: int) -> list[int]:
    """Candidates start with the rows of each verdict: they fill what is free."""
    rest = [i for i in range(len(others)) if i not in chosen]
    return sorted([*chosen, *rest[: most - len(chosen)]])


def _candidates(
    program: Program, on_test: Evaluation, rows: Recording, rng: np.random.Generator
) -> list[Array]:
    """Rows of each tap: those of each verdict, others of the test rows, and neighbours."""
    first = verdict_rows(on_test)
    others = np.setdiff1d(np.arange(len(on_test.verdict)), first)
    others = rng.permutation(others)[:TEST_ROWS]
    index = np.concatenate([np.array(first, np.intp), others]).astype(np.intp)
    base = [np.array(rows.codes(t.name, index)) for t in program.taps]
    if sum(t.length for t in program.taps) > WIDEST:
        return base
    made = list(_drawn(program, [x[:32] for x in base], rng))
    return [np.concatenate([x, *(block[i] for block in made)]) for i, x in enumerate(base)]


def _drawn(program: Program, base: list[Array], rng: np.random.Generator) -> Iterator[list[Array]]:
    """Some rows of each of the first blocks of neighbours, without those that are faults."""
    for block in islice(neighbours(program, base), BLOCKS):
        kept = rng.permutation(np.flatnonzero(finite(block)))[: NEIGHBOURS // BLOCKS]
        yield [x[kept] for x in block]


@dataclass(frozen=True, eq=False)
class BitFlips:
    """What flipped bits do to candidate rows: (flips, rows) each."""

    seen: Bools  # does a score, a verdict or the class change?
    harmful: Bools  # (flips,): does a verdict or the class of any row?

    def score(self, chosen: list[int]) -> MutationScore:
        found = self.seen[:, chosen].any(axis=1) & self.harmful
        flips = len(self.harmful)
        return MutationScore(len(chosen), flips, int(self.harmful.sum()), int(found.sum()))


class Mutants:
    """Artifacts with one flipped bit of DATA that ``em_open`` still accepts, on candidate rows."""

    def __init__(self, program: Program, taps: list[Array], rng: np.random.Generator) -> None:
        self._file = bytearray(flat.write(flat.Artifact(program, "00" * 32, {})))
        self._taps = taps
        whole = Monitor(bytes(self._file))
        self.work = whole.work
        self._right = whole.evaluate(taps)
        offset, size = flat.sections(bytes(self._file))[flat.DATA]
        each = len(taps[0]) * self.work + 8 * len(self._file)
        count = int(np.clip(OPERATIONS // each, FEWEST_FLIPS, MOST_FLIPS))
        bits = np.unique(rng.integers(0, 8 * size, count)) if size else np.zeros(0, np.int64)
        bits = rng.permutation(bits) + 8 * offset
        half = len(bits) // 2
        self.learn, self.held_out = self._try(bits[:half]), self._try(bits[half:])

    def _try(self, bits: npt.NDArray[np.int64]) -> BitFlips:
        seen, harmful = [], []
        for bit in bits.tolist():
            found = self._evaluated(bit)
            if found is None:
                continue  # em_open refuses it, and em_check finds it
            changed = (found.verdicts != self._right.verdicts).any(axis=1)
            changed |= found.predicted != self._right.predicted
            harmful.append(bool(changed.any()))
            for score, right in zip(found.scores, self._right.scores, strict=True):
                changed |= score.view(f"i{score.itemsize}") != right.view(f"i{right.itemsize}")
            seen.append(changed)
        rows = len(self._taps[0])
        return BitFlips(np.array(seen, bool).reshape(-1, rows), np.array(harmful, bool))

    def _evaluated(self, bit: int) -> Evaluation | None:
        file = bytearray(self._file)
        file[bit // 8] ^= 1 << bit % 8
        seal(file)
        try:
            return Monitor(bytes(file)).evaluate(self._taps)
        except ArtifactError:
            return None


def seal(file: bytearray) -> None:
    """Makes the checksum of a flat file right."""
    crc = zlib.crc32(memoryview(file)[CRC_AT + 4 :], zlib.crc32(memoryview(file)[:CRC_AT]))
    struct.pack_into("<I", file, CRC_AT, crc)


def _cover(flips: BitFlips, most: int) -> list[int]:
    """Rows that together see the most harmful flips, greedily; then the most flips of any kind."""
    chosen: list[int] = []
    for left in (flips.seen[flips.harmful], flips.seen[~flips.harmful]):
        for row in chosen:
            left = left[~left[:, row]]
        while len(chosen) < most and len(left):
            gain = left.sum(axis=0)
            row = int(np.argmax(gain))
            if gain[row] == 0:
                break
            chosen.append(row)
            left = left[~left[:, row]]
    return chosen
