"""Runs a command as a child and measures its time and the peak memory of its process tree."""

from __future__ import annotations

import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

SAMPLE_S = 0.2
MIB = 1 << 20
PROC = Path("/proc")


@dataclass(frozen=True)
class Usage:
    """``peak_mib`` is of the tree: sampled, and never less than the child's own high-water mark
    when it was last seen. The kernel's mark at the child's end would be the parent's, if larger:
    it is passed on when a process is made."""

    duration_s: float
    peak_mib: float
    returncode: int
    output: str
    complaint: str  # the last line of standard error


def measure(command: Sequence[str], text: str) -> Usage:
    """Run with ``text`` as standard input; wait for the end."""
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        given.write(text.encode())
        given.seek(0)
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=given, stdout=output, stderr=errors)
        sampler = _Sampler(child.pid)
        sampler.start()
        try:
            child.wait()
        except BaseException:
            child.kill()
            child.wait()
            raise
        finally:
            sampler.stop()
        duration = time.perf_counter() - start
        said, complaints = _text(output), _text(errors).strip().splitlines()
    peak = sampler.peak_bytes / MIB
    return Usage(duration, peak, child.returncode, said, complaints[-1] if complaints else "")


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


class _Sampler(threading.Thread):
    """Samples the resident memory of a process and of all below it (where there is /proc)."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak_bytes = 0
        self._pid = pid
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.wait(SAMPLE_S):
            self.peak_bytes = max(self.peak_bytes, _tree_bytes(self._pid))

    def stop(self) -> None:
        self._ended.set()
        self.join()


def _tree_bytes(root: int) -> int:
    found, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        try:
            status = (PROC / str(pid) / "status").read_text()
            children = (PROC / str(pid) / "task" / str(pid) / "children").read_text()
        except OSError:  # it has ended, or there is no /proc
            continue
        # Of the root the mark that it reached itself, of what is below it what it has now.
        key = "VmHWM" if pid == root else "VmRSS"
        found += sum(int(v.split()[1]) for v in status.splitlines() if v.startswith(key)) * 1024
        waiting += [int(v) for v in children.split()]
    return found
