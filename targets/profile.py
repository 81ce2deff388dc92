"""Reading target profiles: TOML files as those in ``profiles/``.

description = "what it is, for people"
architecture = "x86_64"
big_endian = false              # optional: true of a machine that has to refuse every artifact
kernels = "xnnpack"             # that run the classifier: xnnpack, builtin or reference

[toolchain]                     # that builds the C runtime
cc = "cc"
cflags = ["-std=c11", "-Os", "-ffp-contract=off"]
size = "size"                   # its size(1)
nm = "nm"                       # optional: its nm(1); default: as size is named
link = ["-static"]              # optional: flags that link a program
packages = ["gcc"]              # optional: Debian's, that bring it

[emulator]                      # optional: what runs programs of the target here; [[emulator]] for
                                # several, of which the first takes it on whose memory suffices
command = ["qemu-system-arm", "-M", "mps2-an386", "-kernel"]   # the program's path comes behind
sources = ["start.c", "io.c"]   # of a board: start-up, input and output, see boards/board.h
script = "board.ld"             # of a board: the linker script; none: a program of the system
packages = ["qemu-system-arm"]
description = "what it is, for people"

[cycles]                        # optional: a stated model of the core, no measurement
least = 1                       # cycles an instruction, on average
most = 4                        # optional: missing where nobody states a figure
megahertz = 25                  # of the clock that microseconds are for
source = "who states them"

[budget]                        # optional: most that the monitors of one artifact may take
kilobytes = 32                  # of 1024 bytes
microseconds = 5                # an evaluation, estimated; needs [nanoseconds]

[nanoseconds]                   # optional: what `edgemon op-times --toml` prints on the target
node = 6.2                      # and so on: ``times.PARTS``
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgemon.targets.cycles import Cycles
from edgemon.targets.emulator import Emulator, emulators, texts
from edgemon.targets.errors import TargetError
from edgemon.targets.nearest import choices
from edgemon.targets.times import OpTimes
from edgemon.targets.toml_file import read_toml

PROFILES = Path(__file__).parent / "profiles"
DEFAULT = "host-x86_64"
SUFFIX = ".toml"
KILOBYTE_LIMITS = (0.1, 4096.0)  # least and most that a budget may say
MICROSECOND_LIMITS = (0.0, 1e6)  # the same, of which the least is none
KERNELS = ("xnnpack", "builtin", "reference")
TOP = (
    "description", "architecture", "big_endian", "kernels", "toolchain", "emulator", "budget",
    "nanoseconds", "cycles",
)  # fmt: skip
TOOLS = ("cc", "cflags", "size", "nm", "link", "packages")


@dataclass(frozen=True)
class Budget:
    """The most that the monitors of one artifact may take; None: no limit."""

    kilobytes: float | None = None  # of 1024 bytes: tables and nodes
    microseconds: float | None = None  # of one evaluation, estimated


@dataclass(frozen=True)
class Target:
    """A device: which kernels run the classifier, which compiler builds the runtime, how fast it
    is and what monitors may take of it."""

    name: str
    description: str
    architecture: str
    kernels: str  # one of ``KERNELS``
    cc: str
    cflags: tuple[str, ...]
    size: str  # the toolchain's size(1)
    times: OpTimes | None = None  # None where nobody has measured
    budget: Budget = Budget()
    nm: str = "nm"  # the toolchain's nm(1)
    link: tuple[str, ...] = ()  # flags that link a program
    packages: tuple[str, ...] = ()  # Debian's, that bring the toolchain
    emulators: tuple[Emulator, ...] = ()  # tried in order; none: nothing runs its programs here
    cycles: Cycles | None = None  # None: no model is stated
    big_endian: bool = False  # then every artifact has to be refused


def names() -> list[str]:
    """Names of the profiles that ship with edgemon."""
    return sorted(p.stem for p in PROFILES.glob(f"*{SUFFIX}"))


def name_of(target: str) -> str:
    """The name of a target that was given by name or as a file."""
    return Path(target).name.removesuffix(SUFFIX)


def load(name: str) -> Target:
    """The target with this name, or that of a profile of one's own (a path that ends in .toml).
    Raises TargetError in one sentence."""
    if name in names():
        return read(PROFILES / f"{name}{SUFFIX}")
    if name.endswith(SUFFIX):
        return read(Path(name))
    raise TargetError(
        f"target {name}: unknown{choices(name, names())}, or give a profile of "
        "your own as a file that ends in .toml"
    )


def read(path: Path) -> Target:
    """The target of a profile. Raises TargetError, which names the file and the field."""
    where = f"target {path}"
    content = read_toml(path, where, TargetError)
    _only(content, TOP, where)
    tools = _table(content, "toolchain", where)
    _only(tools, TOOLS, f"{where}: [toolchain]")
    kernels = _text(content, "kernels", where)
    if kernels not in KERNELS:
        raise TargetError(f"{where}: kernels = {kernels!r}: use {', '.join(KERNELS)}")
    big = content.get("big_endian", False)
    if not isinstance(big, bool):
        raise TargetError(f"{where}: big_endian = {big!r}: give true or false")
    times = content.get("nanoseconds")
    size = _text(tools, "size", f"{where}: [toolchain]")
    return Target(
        path.stem,
        _text(content, "description", where),
        _text(content, "architecture", where),
        kernels,
        _text(tools, "cc", f"{where}: [toolchain]"),
        _flags(tools, where),
        size,
        None if times is None else OpTimes.from_toml(times, where),
        _budget(content, where),
        _text({"nm": size.removesuffix("size") + "nm", **tools}, "nm", f"{where}: [toolchain]"),
        texts(tools, "link", f"{where}: [toolchain]"),
        texts(tools, "packages", f"{where}: [toolchain]"),
        emulators(content, path.parent, where),
        Cycles.from_toml(content["cycles"], where) if "cycles" in content else None,
        big,
    )


def _budget(content: Mapping[str, Any], where: str) -> Budget:
    if "budget" not in content:
        return Budget()
    table = _table(content, "budget", where)
    _only(table, ("kilobytes", "microseconds"), f"{where}: [budget]")
    for key, value in table.items():
        number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if not (number and math.isfinite(value) and value > 0):
            raise TargetError(f"{where}: [budget] {key} = {value!r}: give a number above 0")
        least, most = KILOBYTE_LIMITS if key == "kilobytes" else MICROSECOND_LIMITS
        if not least <= value <= most:
            raise TargetError(
                f"{where}: [budget] {key} = {value!r} must lie between {least:.10g} and {most:.10g}"
            )
    if "microseconds" in table and "nanoseconds" not in content:
        raise TargetError(
            f"{where}: [budget] microseconds needs [nanoseconds]: measure them on the target with "
            "`edgemon op-times --toml`, and paste what it prints"
        )
    return Budget(table.get("kilobytes"), table.get("microseconds"))


def _only(table: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    for key in table:
        if key not in known:
            raise TargetError(f"{where}: unknown {key!r}{choices(key, known)}")


def _table(content: Mapping[str, Any], key: str, where: str) -> dict[str, Any]:
    found = content.get(key)
    if not isinstance(found, dict):
        raise TargetError(f"{where}: the table [{key}] is missing")
    return found


def _text(table: Mapping[str, Any], key: str, where: str) -> str:
    found = table.get(key)
    if not isinstance(found, str) or not found:
        raise TargetError(f"{where}: {key} = {found!r}: give a text")
    return found


def _flags(tools: Mapping[str, Any], where: str) -> tuple[str, ...]:
    found = tools.get("cflags")
    if not isinstance(found, list) or not all(isinstance(v, str) for v in found):
        raise TargetError(f"{where}: [toolchain] cflags = {found!r}: give a list of texts")
    return tuple(found)
