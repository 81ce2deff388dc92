"""Each op on a target: instructions as its profile builds, beside the form of the kernels that is
made for vector units (EDGEMON_SMALL=0) and other levels of optimisation.

Instructions are counted by the target's emulator, so they are the same in every run; an op's own
are those of a program with it less those of the same program without it, in the mean of rows. They
are no times: a core with vector units or a cache is another matter.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from edgemon import targets
from edgemon.bench.bounds.built import HERE, NO_MODEL
from edgemon.bench.errors import BenchError
from edgemon.bench.op_programs import Probe, named_ops
from edgemon.compiler.emit import flat
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.terminal import Terminal
from edgemon.runtime.monitor import Monitor
from edgemon.targets import Target

FAST_FORM = "-DEDGEMON_SMALL=0"
LEVELS = ("-O2", "-O3")  # beside the profile's own
LEVEL = re.compile(r"-O(?:\d|s|z|fast|g)?")
ROWS = 2  # of inputs
LIMIT = 2.0
SHORT = 100  # instructions, below which the call itself decides


@dataclass(frozen=True)
class Line:
    """One op in one size: instructions of one evaluation at each level, the profile's own first."""

    op: str
    size: str
    instructions: dict[str, float]

    @property
    def ratio(self) -> float:
        """Of the profile's own level to -O3."""
        return next(iter(self.instructions.values())) / self.instructions[LEVELS[-1]]

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "ratio": self.ratio}


@dataclass(frozen=True)
class Counted:
    """``flash``: bytes of the runtime with all ops at each level."""

    target: str
    lines: tuple[Line, ...]
    flash: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        return {
            "target": self.target, "flash": self.flash,
            "ops": [line.to_json() for line in self.lines],
        }  # fmt: skip


def measure(name: str, only: str = "", progress: Progress = unseen) -> Counted:
    """All ops of which the name contains ``only``. Raises BenchError without such an op, and
    TargetError where the target's tools are missing or nothing counts."""
    target = targets.load(name)
    own = [flag for flag in target.cflags if LEVEL.fullmatch(flag)]
    if not own:
        raise BenchError(f"op-bounds --target {name}: its cflags have no level as -Os to compare")
    found = named_ops(only)
    probes = [probe for pair in found for probe in pair]
    counts: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {}
    answers: dict[str, list[str]] = {}
    flash: dict[str, int] = {}
    levels = dict.fromkeys((own[-1], f"{own[-1]} {FAST_FORM}", *LEVELS))
    for done, level in enumerate(levels):
        built = _at(target, level)
        flash[level] = targets.measure(built).flash
        answers[level], counts[level] = _run(built, probes)
        progress(done + 1, len(levels))
    for level, said in answers.items():
        if said != answers[own[-1]]:
            raise BenchError(f"op-bounds --target {name}: {level} answers other than {own[-1]}")
    alone = {level: np.maximum(of[::2] - of[1::2], 1.0) for level, of in counts.items()}
    lines = tuple(
        Line(
            probe.program.nodes[-1].op, probe.name.partition(" of ")[2],
            {level: float(of[i]) for level, of in alone.items()},
        )
        for i, (probe, _) in enumerate(found)
    )  # fmt: skip
    return Counted(name, lines, flash)


def _at(target: Target, level: str) -> Target:
    flags = [flag for flag in target.cflags if not LEVEL.fullmatch(flag)]
    return replace(target, cflags=(*flags, *level.split()))


def _run(
    target: Target, probes: Sequence[Probe]
) -> tuple[list[str], np.ndarray[Any, np.dtype[np.float64]]]:
    """What the program says, and the mean instructions of each (probes,)."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        folder = Path(scratch)
        _write_data(probes, folder)
        said, counts = targets.run_counted(target, (HERE / "device.c", folder / "data.S"), folder)
    nothing, *rows = counts
    if any(line.startswith("open ") and line != "open 0" for line in said):
        raise BenchError(f"op-bounds --target {target.name}: an artifact is refused there")
    return said, np.array(rows, np.float64).reshape(len(probes), ROWS).mean(axis=1) - nothing


def _write_data(probes: Sequence[Probe], folder: Path) -> None:
    """``data.h`` and ``data.S``; what is equal is written once."""
    names: dict[bytes, str] = {}
    entries, room = [], 8
    for probe in probes:
        artifact = flat.write(flat.Artifact(probe.program, NO_MODEL, {}))
        rows = targets.packed(probe.taps(ROWS))
        room = max(room, Monitor(artifact).workspace_size)
        of, at = (names.setdefault(v, f"data_{len(names)}") for v in (artifact, rows.tobytes()))
        entries.append(f"{{{of}, {of}_end, {at}, {rows.shape[1]}}}")
    assembly = []
    for content, name in names.items():
        (folder / f"{name}.bin").write_bytes(content)
        assembly.append(
            f'.balign 16\n.global {name}\n{name}:\n.incbin "{name}.bin"\n'
            f".global {name}_end\n{name}_end:\n.byte 0\n"
        )
    head = '.section .rodata.data, "a"\n'
    tail = '.section .note.GNU-stack, "", %progbits\n'
    (folder / "data.S").write_text(head + "".join(assembly) + tail)
    declared = "".join(f"extern const uint8_t {n}[], {n}_end[];\n" for n in names.values())
    (folder / "data.h").write_text(
        f"enum {{ N_ENTRIES = {len(probes)}, ROWS = {ROWS}, WORKSPACE_BYTES = {room} }};\n"
        f"{declared}static const entry entries[] = {{{', '.join(entries)}}};\n"
    )


def show(terminal: Terminal, found: Counted) -> None:
    """The table for people, the most beside -O3 first."""
    levels = list(found.flash)
    terminal.table(
        ("op", "size", *levels, f"{levels[0]}/{LEVELS[-1]}"),
        [
            (line.op, line.size, *(f"{n:,.0f}" for n in line.instructions.values()),
             f"{line.ratio:.2f}")
            for line in sorted(found.lines, key=lambda line: -line.ratio)
        ],
    )  # fmt: skip
    long = [line for line in found.lines if line.instructions[LEVELS[-1]] >= SHORT]
    above = sum(line.ratio > LIMIT for line in long)
    total = {k: sum(line.instructions[k] for line in found.lines) for k in levels}
    sizes = "; ".join(
        f"{k} {found.flash[k]:,} bytes of flash with all ops and {total[k]:,.0f} instructions "
        "in all these" for k in levels
    )  # fmt: skip
    terminal.note(
        f"instructions of an evaluation on {found.target}; of {len(long)} that take {SHORT} or "
        f"more with {LEVELS[-1]}, {above} take more than {LIMIT:.0f} times as many with "
        f"{levels[0]}. {sizes}."
    )
