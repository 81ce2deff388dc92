"""What the C runtime costs on a target, read from the target's own toolchain."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from edgemon.targets.call_graph import CallGraph
from edgemon.targets.errors import TargetError
from edgemon.targets.profile import Target
from edgemon.targets.toolchain import amalgamate, require, run

STRUCTS = "em_monitor", "em_result", "em_drift"
EVALUATION = (
    "em_open", "em_bind_model", "em_self_test", "em_evaluate", "em_drift_update", "em_check",
)  # fmt: skip
ROOTS = tuple(f"-Wl,-u,{name}" for name in EVALUATION)
CODE = (".text",)
READ_ONLY = (
    ".rodata", ".srodata", ".eh_frame", ".ARM.ex", ".data.rel.ro", ".gcc_except_table", ".init",
    ".fini", ".preinit",
)  # fmt: skip
DATA = (".data", ".sdata", ".bss", ".sbss", ".tdata", ".tbss", ".got")
NOT_LOADED = (
    ".comment", ".note", ".debug", ".ARM.attributes", ".riscv.attributes", ".gnu", ".stab",
    ".group",
)  # fmt: skip
# A leaf may use so many bytes below its stack pointer, which frames do not count.
RED_ZONE = {"x86_64": 128}


@dataclass(frozen=True)
class Footprint:
    """Bytes of the runtime, as one translation unit with the ops of one artifact or with all. Code
    and constants are those of the functions of ``EVALUATION`` and of what they call: what a linker
    keeps that leaves out the rest (-Wl,--gc-sections)."""

    code: int
    whole: int  # code and constants where the linker leaves out no function
    read_only: int  # constants, and unwind tables where the target has them
    data: int  # .data and .bss: the runtime has none
    stacks: dict[str, int]  # that each function of ``EVALUATION`` needs at most, by the call graph
    chain: tuple[tuple[str, int], ...]  # the calls that need the most, each with its frame
    outside: tuple[str, ...]  # functions of the toolchain's library; their stack is not counted
    library: int  # code and constants of these functions where there is no system that has them
    structs: int  # of em_monitor, em_result and em_drift

    @property
    def flash(self) -> int:
        return self.code + self.read_only + self.data + self.library

    @property
    def stack(self) -> int:
        """The most that any of these functions needs."""
        return max(self.stacks.values())


def measure(target: Target, artifact: bytes | None = None) -> Footprint:
    """Compile the runtime with the target's compiler, with the ops that an artifact needs or with
    all, and read sizes and stack from its tools. Raises TargetError if a tool is missing or fails,
    and if the stack has no bound."""
    require(
        target, (target.cc, target.size), target.packages,
        "flash and RAM cannot be measured (`bench`: leave flash_bytes and ram_bytes out of "
        "--budget to go without)",
    )  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        folder = Path(scratch)
        needs = None
        if artifact is not None:
            needs = folder / "monitor.emon"
            needs.write_bytes(artifact)
        amalgamate(target, folder, needs)
        flags = [*target.cflags, "-fno-common", f"-I{folder}", "-c"]
        _run_gcc(target, [*flags, "-fcallgraph-info=su", "edgemon.c"], folder)
        everything = _sections(target, "edgemon.o", folder)
        _link(target, ["-r", "-nostdlib", "-Wl,--gc-sections", *ROOTS], "kept.o", folder)
        sizes = _sections(target, "kept.o", folder)
        library = _library(target, sizes, folder)
        graph = _graph(target, folder)
        probe = '#include "edgemon.h"\n'
        probe += "".join(f"char size_of_{s}[sizeof({s})];\n" for s in STRUCTS)
        (folder / "structs.c").write_text(probe)
        run(target, [target.cc, *flags, "structs.c"], folder)
        structs = _sections(target, "structs.o", folder)
    below = RED_ZONE.get(target.architecture, 0)
    deepest = graph.deepest()
    stacks = {name: deepest[name] + below for name in EVALUATION if name in deepest}
    return Footprint(
        sizes["code"], everything["code"] + everything["read_only"], sizes["read_only"],
        sizes["data"], stacks, tuple(graph.chain(max(stacks, key=lambda name: stacks[name]))),
        tuple(sorted(graph.outside(EVALUATION))), library, structs["data"],
    )  # fmt: skip


def _run_gcc(target: Target, arguments: list[str], folder: Path) -> None:
    try:
        run(target, [target.cc, *arguments], folder)
    except TargetError as error:
        if "callgraph-info" not in str(error):
            raise
        raise TargetError(
            f"target {target.name}: {target.cc} does not know -fcallgraph-info, by which the stack "
            "is bounded: name a gcc of version 10 or later in [toolchain]"
        ) from None


def _library(target: Target, own: dict[str, int], folder: Path) -> int:
    """What the linker adds to the runtime, on bare metal: memcpy, division, floats in software."""
    if not any(e.script for e in target.emulators):
        return 0
    options = [*target.link, "-nostartfiles", "-Wl,--gc-sections,-e,em_open", *ROOTS]
    _link(target, options, "alone", folder)
    linked = _sections(target, "alone", folder)
    return max(0, linked["code"] + linked["read_only"] - own["code"] - own["read_only"])


def _link(target: Target, options: list[str], out: str, folder: Path) -> None:
    run(target, [target.cc, *target.cflags, "edgemon.o", *options, "-o", out], folder)


def _graph(target: Target, folder: Path) -> CallGraph:
    try:
        graph = CallGraph.parse((folder / "edgemon.ci").read_text())
        graph.deepest()
    except TargetError as error:
        raise TargetError(f"target {target.name}: {error}") from None
    return graph


def _sections(target: Target, name: str, folder: Path) -> dict[str, int]:
    """Bytes of an object file's sections, by what they are for. Raises TargetError on a section
    that nobody has a name for: what it costs would go unsaid."""
    found = {"code": 0, "read_only": 0, "data": 0, "none": 0}
    kinds = (("code", CODE), ("read_only", READ_ONLY), ("data", DATA), ("none", NOT_LOADED))
    text = run(target, [target.size, "-A", name], folder)
    for section, size in re.findall(r"^(\.\S+)\s+(\d+)\s+\d+$", text, re.MULTILINE):
        kind = next((k for k, names in kinds if section.startswith(names)), None)
        if kind is None and int(size):
            raise TargetError(
                f"target {target.name}: {target.size} lists section {section} of {size} bytes, "
                "which is neither code nor data by its name"
            )
        found[kind or "none"] += int(size)
    return found
