"""Flash and RAM on a target, and the peak memory of a process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter_ns

import numpy as np

from edgemon.runtime.monitor import Monitor
from edgemon.targets import Target, measure

CLEAR_REFS, STATUS = Path("/proc/self/clear_refs"), Path("/proc/self/status")
RESET_PEAK = "5"
COPIED, COPIES = 1 << 24, 20  # bytes, beyond the caches; and how often, each time


@dataclass(frozen=True)
class DeviceMemory:
    """Bytes on the target, of a runtime with the artifact's ops; ``stack`` is the most that its
    call graph can need."""

    artifact_bytes: int
    code_bytes: int
    workspace_bytes: int
    structs_bytes: int
    stack_bytes: int

    @property
    def flash_bytes(self) -> int:
        """Artifact and runtime code."""
        return self.artifact_bytes + self.code_bytes

    @property
    def ram_bytes(self) -> int:
        """Workspace, ``em_monitor``, ``em_result``, ``em_drift`` and stack."""
        return self.workspace_bytes + self.structs_bytes + self.stack_bytes

    def to_json(self) -> dict[str, int]:
        return {**asdict(self), "flash_bytes": self.flash_bytes, "ram_bytes": self.ram_bytes}


def on_device(artifact: bytes, target: Target) -> DeviceMemory:
    """Cost of an artifact on a target. Raises TargetError without the target's toolchain."""
    footprint = measure(target, artifact)
    return DeviceMemory(
        len(artifact),
        footprint.flash,
        Monitor(artifact).workspace_size,
        footprint.structs + footprint.data,
        footprint.stack,
    )


class PeakMemory:
    """Peak resident memory of a block of code; ``bytes`` is None where the system cannot tell."""

    bytes: int | None = None


@contextmanager
def peak_memory() -> Iterator[PeakMemory]:
    """Measures the block (Linux: the high-water mark is reset at its start)."""
    found = PeakMemory()
    try:
        CLEAR_REFS.write_text(RESET_PEAK)
        resettable = True
    except OSError:
        resettable = False
    yield found
    if resettable:
        lines = STATUS.read_text().splitlines()
        found.bytes = next(int(v.split()[1]) * 1024 for v in lines if v.startswith("VmHWM"))


class Copies:
    """Microseconds to copy ``COPIED`` bytes: how busy others keep the memory."""

    def __init__(self) -> None:
        self._source = np.ones(COPIED, np.uint8)
        self._target = self._source.copy()

    def us(self) -> float:
        """The fastest of ``COPIES``: the last ones find all of it in the outermost cache, unless
        others fill that."""
        times = []
        for _ in range(COPIES):
            start = perf_counter_ns()
            self._target[:] = self._source
            times.append((perf_counter_ns() - start) / 1e3)
        return min(times)
