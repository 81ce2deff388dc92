"""Targets that run here, and many small programs on one of them: ``every_op.c``."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest

from edgemon import targets
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Program
from edgemon.runtime.monitor import Monitor
from edgemon.targets import program, toolchain
from edgemon.targets.harness_lines import Rows

SAME = "host-x86_64-builtin"  # builds and runs what host-x86_64 does
LITTLE = [n for n in targets.names() if not targets.load(n).big_endian and n != SAME]


def emulated(name: str) -> targets.Target:
    """A target whose toolchain and emulator are there, or a skip that says what to install."""
    found = targets.load(name)
    try:
        toolchain.require(found, (found.cc, found.size, found.nm), found.packages, "it is skipped")
        program.usable_emulators(found)
    except targets.TargetError as error:
        pytest.skip(str(error))
    return found


def artifact_of(own: Program) -> bytes:
    return flat.write(flat.Artifact(own, "00" * 32, {}))


@dataclass(frozen=True)
class Linked:
    """``sizes`` in bytes, by the names of the program's buffers: artifact, row, workspace."""

    path: Path
    emulator: targets.Emulator
    sizes: dict[str, int]


def every_op(target: targets.Target, cases: Iterable[tuple[bytes, Rows]], folder: Path) -> Linked:
    """``every_op.c`` with room for each of these artifacts, which it finds in the folder."""
    stream, widest, longest, workspace = b"", 0, 0, 0
    for artifact, rows in cases:
        packed = targets.packed(rows)
        stream += struct.pack("<4I", len(artifact), len(packed), packed.shape[1], 0)
        stream += artifact + packed.tobytes()
        widest, longest = max(widest, packed.shape[1]), max(longest, len(artifact))
        workspace = max(workspace, Monitor(artifact).workspace_size)
    (folder / "rows.bin").write_bytes(stream)
    toolchain.amalgamate(target, folder, None)
    sizes = {"artifact": longest, "row": widest, "workspace": workspace}
    defines = [f"-D{name.upper()}_BYTES={size}" for name, size in sizes.items()]
    source = Path(__file__).with_name("every_op.c")
    path, emulator = program.link(target, [source], defines, folder)
    return Linked(path, emulator, sizes)
