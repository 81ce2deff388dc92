"""Running one artifact in a target's emulator: results of its rows, stack seen, instructions."""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import Monitor
from edgemon.targets.emulator import BOARDS
from edgemon.targets.errors import TargetError
from edgemon.targets.profile import Target
from edgemon.targets.program import Program, build, runs_here
from edgemon.targets.toolchain import missing

Array = npt.NDArray[Any]
Rows = Sequence[Array]  # (n, length) of each tap, in the artifact's order

FIRST_LINE, LAST_LINE = "edgemon harness 1", "end"
SECONDS = 900  # after which an emulator is stopped
ALIGNED = 8  # bytes, of each tap in a row


@dataclass(frozen=True)
class Instructions:
    """That the target executes; the same in each run."""

    open: int
    self_test: int
    evaluations: tuple[int, ...]  # of each row


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a program said. Statuses are those of edgemon.h."""

    emulator: str
    opened: int  # of em_open
    self_test: int | None
    check: int | None  # of em_check, after all rows
    evaluation: Evaluation | None  # of the rows; None if the artifact was refused
    drift: tuple[int, int, int] | None  # images, faults and the image of the flag
    stack_seen: dict[str, int]  # bytes, by function; empty where nothing was seen
    instructions: Instructions | None
    not_counted: str = ""  # why there are no instructions


def run(target: Target, artifact: bytes, rows: Rows) -> Outcome:
    """Build and run. ``rows``: an array (n, length) a tap, in the artifact's order. Raises
    TargetError if something is missing, fails, or does not fit."""
    monitor = Monitor(artifact)
    data = packed(rows)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        folder = Path(scratch)
        program = build(
            target, artifact, row_bytes=data.shape[1], workspace_bytes=monitor.workspace_size,
            folder=folder,
        )  # fmt: skip
        (folder / "rows.bin").write_bytes(data.tobytes())
        plugin, why = _plugin(program, folder)
        native = runs_here(target)
        command = [] if native else _emulated(program, plugin)
        lines = printed(target, [*command, str(program.path)], folder)
        if native and plugin:
            printed(target, [*_emulated(program, plugin), str(program.path)], folder)
        counts, unread = _counts(folder, len(data))
        name = "this machine" if native else program.emulator.description
        return _outcome(target, monitor, lines, name, counts, why or unread)


def packed(rows: Rows) -> npt.NDArray[np.uint8]:
    """(n, bytes): the rows as the harness reads them."""
    parts = []
    for tap in rows:
        data = np.ascontiguousarray(tap).view(np.uint8).reshape(len(tap), -1)
        parts.append(np.pad(data, ((0, 0), (0, -data.shape[1] % ALIGNED))))
    return np.concatenate(parts, axis=1)


def _plugin(program: Program, folder: Path) -> tuple[list[str], str]:
    """Arguments that make the emulator count, or why it cannot."""
    compiler = next((cc for cc in ("cc", "gcc", "clang") if shutil.which(cc)), None)
    if compiler is None:
        return [], "no C compiler of this machine, which the counter is built with"
    if absent := missing(program.emulator.command[:1]):
        return [], f"{absent[0]} is not installed, which counts them"
    built = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-o", "count.so", str(BOARDS / "count.c")],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode:
        return [], f"the counter cannot be built: {' '.join(built.stderr.split())[:200]}"
    begin, end = program.marks
    spec = f"{folder / 'count.so'},begin={begin:#x},end={end:#x},out={folder / 'counts'}"
    probe = subprocess.run(
        [program.emulator.command[0], "-help"], capture_output=True, text=True, check=False
    )
    if "-plugin" not in probe.stdout:
        return [], f"{program.emulator.command[0]} takes no plug-ins"
    return ["-plugin", spec], ""


def _emulated(program: Program, plugin: list[str]) -> list[str]:
    first, *rest = program.emulator.command
    return [first, *plugin, *rest]


def said(target: Target, command: list[str], folder: Path) -> list[str]:
    """The lines that a program said, to the terminal or to the debugger. Raises TargetError if it
    does not end, or fails."""
    done = _run(target, command, folder)
    if done.returncode:
        raise _failed(target, command, done)
    return (done.stdout or done.stderr).splitlines()


def printed(target: Target, command: list[str], folder: Path) -> list[str]:
    """What the harness printed between its first line and its last. Raises TargetError unless it
    came to its end."""
    done = _run(target, command, folder)
    for text in (done.stdout, done.stderr):
        lines = text.splitlines()
        if FIRST_LINE in lines and LAST_LINE in lines:
            return lines[lines.index(FIRST_LINE) + 1 : lines.index(LAST_LINE)]
    raise _failed(target, command, done)


def _run(target: Target, command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            command, cwd=folder, capture_output=True, text=True, check=False, timeout=SECONDS,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise TargetError(
            f"target {target.name}: {command[0]} has not ended after {SECONDS} s; give fewer rows"
        ) from None


def _failed(
    target: Target, command: list[str], done: subprocess.CompletedProcess[str]
) -> TargetError:
    last = (done.stderr.strip() or done.stdout.strip() or "nothing").splitlines()[-1][:200]
    return TargetError(
        f"target {target.name}: the program did not come to its end (exit code {done.returncode}); "
        f"the last that {Path(command[0]).name} said: {last}"
    )


def _counts(folder: Path, rows: int) -> tuple[Instructions | None, str]:
    """What the counter wrote: nothing, em_open, em_self_test, and each row."""
    path = folder / "counts"
    found = [int(v) for v in path.read_text().split()] if path.exists() else []
    if len(found) != 3 + rows:
        return None, "the artifact was refused" if found else "the emulator loaded no counter"
    nothing, opened, self_test, *evaluations = found
    own = tuple(n - nothing for n in evaluations)
    return Instructions(opened - nothing, self_test - nothing, own), ""


def _outcome(
    target: Target, monitor: Monitor, lines: list[str], name: str,
    counts: Instructions | None, why: str,
) -> Outcome:  # fmt: skip
    said: dict[str, list[str]] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        said.setdefault(word, []).append(rest)
    try:
        opened = int(said["open"][0])
        drift = tuple(int(v) for v in said["drift"][0].split()) if "drift" in said else None
        return Outcome(
            name,
            opened,
            int(said["self-test"][0]) if "self-test" in said else None,
            int(said["check"][0]) if "check" in said else None,
            None if opened else evaluation_of(monitor, said.get("row", [])),
            None if drift is None else (drift[0], drift[1], drift[2]),
            {f: int(n) for f, n in (v.split() for v in said.get("stack", []))},
            counts,
            "" if counts else why,
        )
    except (KeyError, ValueError, IndexError):
        raise TargetError(
            f"target {target.name}: what the program printed is not what the harness prints"
        ) from None


def evaluation_of(monitor: Monitor, lines: list[str]) -> Evaluation:
    """Of lines ``REASON CLASS VERDICT VERDICT:SCORE ...``."""
    count = len(monitor.monitors)
    numbers = np.array(
        [[int(v) for v in re.split("[ :]", line)[:3]] for line in lines], np.int64
    ).reshape(-1, 3)
    each = [[part.split(":") for part in line.split()[3:]] for line in lines]
    verdicts = np.array([[int(v) for v, _ in row] for row in each], np.uint8).reshape(-1, count)
    bits = np.array([[int(s, 16) for _, s in row] for row in each], np.uint64).reshape(-1, count)
    scores = []
    for column, info in zip(bits.T, monitor.monitors, strict=True):
        if info.dtype == "float32":
            scores.append(column.astype(np.uint32).view(np.float32))
        else:
            scores.append(column.view(np.int64).astype(info.dtype))
    return Evaluation(
        numbers[:, 2].astype(np.uint8), numbers[:, 0].astype(np.int32),
        numbers[:, 1].astype(np.int32), verdicts, tuple(scores),
    )  # fmt: skip
