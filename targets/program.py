"""A program that runs one artifact on a target: the harness of ``targets/boards``, built."""

from __future__ import annotations

import platform
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from edgemon.targets.emulator import BOARDS, Emulator
from edgemon.targets.errors import TargetError
from edgemon.targets.profile import Target
from edgemon.targets.toolchain import amalgamate, install, missing, require, run

ARTIFACT, PROGRAM = "monitor.emon", "program"
MARKS = "measure_begin", "measure_end"  # in harness.c; what is between is counted


class TooSmallError(TargetError):
    """A program that is larger than the memory of every board of a target."""


@dataclass(frozen=True)
class Program:
    """``marks``: the addresses of ``MARKS``."""

    path: Path
    emulator: Emulator
    marks: tuple[int, int]


def runs_here(target: Target) -> bool:
    """Is the target this machine?"""
    return platform.system() == "Linux" and platform.machine() == target.architecture


def usable_emulators(target: Target) -> list[Emulator]:
    """Those that are installed. Raises TargetError, which says what to install, if none is, unless
    the target is this machine."""
    if not target.emulators:
        raise TargetError(
            f"target {target.name}: its profile has no [emulator], so that nothing here runs its "
            "programs; name one (docs/porting.md)"
        )
    found = [e for e in target.emulators if runs_here(target) or not missing(e.command[:1])]
    if not found:
        first = target.emulators[0]
        raise TargetError(
            f"target {target.name}: its emulator {first.command[0]!r} is not installed; "
            f"{install(first.packages)}"
        )
    return found


def build(
    target: Target, artifact: bytes, *, row_bytes: int, workspace_bytes: int, folder: Path
) -> Program:
    """The harness with the artifact and the ops that it needs, for the first of the target's boards
    whose memory suffices. Raises TargetError if a tool is missing or fails, or if none suffices."""
    (folder / ARTIFACT).write_bytes(artifact)
    amalgamate(target, folder, folder / ARTIFACT)
    defines = (
        f"-DROW_BYTES={row_bytes}", f"-DWORKSPACE_BYTES={max(8, workspace_bytes)}",
        f'-DARTIFACT="{ARTIFACT}"',
    )  # fmt: skip
    sources = BOARDS / "harness.c", BOARDS / "artifact.S"
    try:
        return linked(target, sources, defines, folder)
    except TooSmallError as error:
        raise TargetError(
            f"target {target.name}: the artifact ({len(artifact):,} bytes), its workspace "
            f"({workspace_bytes:,}) and a row of its taps ({row_bytes:,}) do not fit into the "
            f"memory of {error}"
        ) from None


def linked(
    target: Target, sources: Sequence[Path], defines: Sequence[str], folder: Path
) -> Program:
    """As ``link``, of sources that have ``MARKS``."""
    path, emulator = link(target, sources, defines, folder)
    return Program(path, emulator, _marks(target, path, folder))


def link(
    target: Target, sources: Sequence[Path], defines: Sequence[str], folder: Path
) -> tuple[Path, Emulator]:
    """A program of the amalgamation in a folder and of sources with a main(), for the first of the
    target's boards whose memory suffices. Raises TooSmallError, which names them, if none does, and
    TargetError if a tool is missing or fails."""
    require(target, (target.cc, target.nm), target.packages, "nothing can be built for it")
    too_small = []
    for emulator in usable_emulators(target):
        script = []
        if emulator.script is not None:
            script = [f"-T{emulator.script}", f"-L{emulator.script.parent}", f"-L{BOARDS}"]
        command = [
            target.cc, *target.cflags, f"-I{folder}", f"-I{BOARDS}", *defines, "edgemon.c",
            *map(str, (*sources, *emulator.sources)), *script, *target.link, "-o", PROGRAM,
        ]  # fmt: skip
        try:
            run(target, command, folder)
        except TargetError as error:
            if "overflowed" not in str(error):
                raise
            too_small.append(emulator.description)
        else:
            return folder / PROGRAM, emulator
    raise TooSmallError(", ".join(too_small))


def _marks(target: Target, path: Path, folder: Path) -> tuple[int, int]:
    symbols = run(target, [target.nm, path.name], folder)
    found = {
        name: int(at, 16)
        for at, name in re.findall(r"^([0-9a-f]+) \w (\S+)$", symbols, re.MULTILINE)
    }
    odd = ~1 if target.architecture.startswith("arm") else ~0  # Thumb: no part of the address
    begin, end = (found[name] & odd for name in MARKS)
    return begin, end
