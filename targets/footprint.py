"""What the C runtime costs on a target, read from the target's own toolchain."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from edgemon import runtime
from edgemon.targets.errors import TargetError
from edgemon.targets.profile import Target

C_FOLDER = Path(runtime.__file__).parent / "c"
STRUCTS = "em_monitor", "em_result", "em_drift"


@dataclass(frozen=True)
class Footprint:
    """Bytes. ``stack`` bounds every call chain from above: each function once."""

    code: int  # .text and read-only data of the runtime: flash
    data: int  # .data and .bss: the runtime has none
    stack: int
    structs: int  # of em_monitor, em_result and em_drift


def measure(target: Target) -> Footprint:
    """Compile the runtime with the target's compiler and read sizes from its tools."""
    for tool in (target.cc, target.size):
        if shutil.which(tool) is None:
            raise TargetError(
                f"target {target.name}: its tool {tool!r} is not installed, so flash and RAM "
                "cannot be measured; install it, or leave flash_bytes and ram_bytes out of --budget"
            )
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        probe = folder / "structs.c"
        probe.write_text(
            '#include "edgemon/edgemon.h"\n'
            + "".join(f"char size_of_{s}[sizeof({s})];\n" for s in STRUCTS)
        )
        sources = sorted((C_FOLDER / "src").glob("*.c"))
        flags = [*target.cflags, "-fno-common", f"-I{C_FOLDER / 'include'}", "-c"]
        _run([target.cc, *flags, "-fstack-usage", *map(str, sources)], folder, target)
        objects = [f"{s.stem}.o" for s in sources]
        code, data = 0, 0
        for line in _run([target.size, *objects], folder, target).splitlines()[1:]:
            text, initialised, zeroed = (int(v) for v in line.split()[:3])
            code, data = code + text, data + initialised + zeroed
        stack = sum(
            int(line.split("\t")[1])
            for report in folder.glob("*.su")
            for line in report.read_text().splitlines()
        )
        _run([target.cc, *flags, probe.name], folder, target)
        structs = int(_run([target.size, "structs.o"], folder, target).splitlines()[1].split()[2])
    return Footprint(code, data, stack, structs)


def _run(command: list[str], folder: Path, target: Target) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        first = re.sub(r"\s+", " ", done.stderr.strip())[:200]
        raise TargetError(f"target {target.name}: {command[0]} failed: {first}")
    return done.stdout
