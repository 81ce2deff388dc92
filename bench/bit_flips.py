"""``edgemon bit-flips``: what becomes of an artifact when one of its bits flips.

Every bit is flipped, one at a time, and the checksum made right, as if the damage had come before
it. Opening refuses it, or the self-test finds it; or it changes the verdict or the class of
some rows, unnoticed, or of none (mutation analysis, DeMillo, Lipton and Sayward 1978).
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.errors import BenchError
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import record_rows
from edgemon.compiler.emit import flat
from edgemon.compiler.program.neighbours import finite, neighbours
from edgemon.compiler.proof.self_test import CRC_AT, seal
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Progress, Reporter
from edgemon.compiler.terminal import Terminal
from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.monitor import Monitor

Array = npt.NDArray[Any]

ROWS = 10_000
FIRST_ROWS = 500  # looked at before the others
FROM_A_BLOCK = 1000  # of neighbours
HEADER, ALL = "header", "all"


@dataclass
class FlipLine:
    """Flipped bits of one part of the file."""

    part: str
    flips: int = 0
    refused: int = 0  # by em_open
    caught: int = 0  # by the self-test
    harmless: int = 0  # no verdict and no class of any row changes
    unnoticed: int = 0  # one does

    @property
    def share(self) -> float:
        return self.unnoticed / max(1, self.flips)


def run(
    bundle_path: Path,
    data: str,
    *,
    flips: int | None = None,
    seed: int = 0,
    label_column: str | None = None,
    workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> dict[str, Any]:
    """The JSON document of ``bit-flips --json``. ``flips``: as many bits, drawn (None: every one).
    Rows: ``rows_of``."""
    bundle = Bundle.open(bundle_path)
    bundle.require_intact()
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        recorded = record_rows(
            bundle, data, Path(scratch), label_column=label_column, workers=workers,
            reporter=reporter, labelled=False,
        )  # fmt: skip
        taps = rows_of(bundle, recorded, np.random.default_rng(seed))
    bits = np.setdiff1d(
        np.arange(8 * len(bundle.artifact_bytes)), np.arange(8 * CRC_AT, 8 * (CRC_AT + 4))
    )
    if flips is not None:
        if flips < 1:
            raise BenchError(f"--flips {flips}: give a number above 0")
        bits = np.random.default_rng(seed).permutation(bits)[:flips]
    with reporter.stage("flipping bits") as progress:
        lines = count(bundle.artifact_bytes, bits, taps, progress)
    return {
        "artifact_bytes": len(bundle.artifact_bytes),
        "bits": int(8 * len(bundle.artifact_bytes) - 32),
        "rows": len(taps[0]),
        "data_rows": min(len(recorded), ROWS),
        "lines": [{**asdict(line), "share": line.share} for line in lines],
    }


def rows_of(bundle: Bundle, recorded: Recording, rng: np.random.Generator) -> list[Array]:
    """10,000 rows of each tap: those of the data, neighbours of thresholds, and for the rest rows
    of the data that are moved a little."""
    program = bundle.artifact.program
    index = np.sort(rng.permutation(len(recorded))[:ROWS])
    rows = [np.array(recorded.codes(t.name, index)) for t in program.taps]
    parts = [rows]
    missing = ROWS - len(index)
    for block in neighbours(program, [x[:32] for x in rows]):
        if missing <= 0:
            break
        kept = rng.permutation(np.flatnonzero(finite(block)))[: min(missing, FROM_A_BLOCK)]
        parts.append([x[kept] for x in block])
        missing -= len(kept)
    source = rng.integers(0, len(index), missing)
    parts.append([_moved(x[source], rng) for x in rows])
    return [np.concatenate(x) for x in zip(*parts, strict=True)]


def _moved(x: Array, rng: np.random.Generator) -> Array:
    """Codes by up to two, floats by about a hundredth of the largest."""
    if x.dtype.kind == "f":
        largest = np.abs(x).max(axis=1, keepdims=True)
        return np.asarray(x + rng.normal(0, 0.01, x.shape) * largest, x.dtype)
    ends = np.iinfo(x.dtype)
    moved = x.astype(np.int64) + rng.integers(-2, 3, x.shape)
    return np.asarray(np.clip(moved, ends.min, ends.max), x.dtype)


def count(
    artifact: bytes, bits: npt.NDArray[np.int64], taps: list[Array], progress: Progress
) -> list[FlipLine]:
    """A line for each part of the file that has one of the bits, and one for all."""
    whole = Monitor(artifact)
    rows = len(taps[0])
    blocks = [[x[a:b] for x in taps] for a, b in ((0, FIRST_ROWS), (FIRST_ROWS, rows)) if a < rows]
    right = [whole.evaluate(block) for block in blocks]
    names = np.full(len(artifact), HEADER, dtype=object)
    for kind, (offset, size) in flat.sections(artifact).items():
        names[offset : offset + size] = flat.SECTION_NAMES.get(kind, f"{kind:#x}")
    lines: dict[str, FlipLine] = {}
    total = FlipLine(ALL)
    for done, bit in enumerate(bits.tolist()):
        name = names[bit // 8]
        outcome = _outcome(artifact, bit, blocks, right)
        for line in (lines.setdefault(name, FlipLine(name)), total):
            line.flips += 1
            setattr(line, outcome, getattr(line, outcome) + 1)
        if done % 256 == 255:
            progress(done + 1, len(bits))
    return [*lines.values(), total]


def _outcome(artifact: bytes, bit: int, blocks: list[list[Array]], right: list[Any]) -> str:
    file = bytearray(artifact)
    file[bit // 8] ^= 1 << bit % 8
    seal(file)
    try:
        damaged = Monitor(bytes(file))
    except ArtifactError:
        return "refused"
    try:
        damaged.self_test()
    except ArtifactError:
        return "caught"
    for block, expected in zip(blocks, right, strict=True):
        found = damaged.evaluate(block)
        if (found.verdicts.shape != expected.verdicts.shape
                or (found.verdicts != expected.verdicts).any()
                or (found.predicted != expected.predicted).any()):  # fmt: skip
            return "unnoticed"
    return "harmless"


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The document as a table and a sentence."""
    columns = ("part", "flips", "refused", "caught", "harmless", "unnoticed")
    terminal.table(
        (*columns, "share"),
        [[*(line[c] for c in columns), f"{line['share']:.2%}"] for line in document["lines"]],
        title="One flipped bit, and a checksum made right",
    )
    total = document["lines"][-1]
    terminal.note(
        f"{total['unnoticed']:,} of {total['flips']:,} flipped bits ({total['share']:.2%}) change "
        f"a verdict or a class of {document['rows']:,} rows unnoticed; refused: opening finds it; "
        "caught: the self-test does"
    )
