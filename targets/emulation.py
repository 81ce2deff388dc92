"""Running one artifact in a target's emulator: results of its rows, stack seen, instructions."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from edgemon.runtime.monitor import Monitor
from edgemon.targets.emulator import BOARDS
from edgemon.targets.errors import TargetError
from edgemon.targets.harness_lines import Instructions, Outcome, Rows, between, outcome_of, packed
from edgemon.targets.profile import Target
from edgemon.targets.program import Program, TooSmallError, build, linked, runs_here
from edgemon.targets.toolchain import amalgamate, missing

SECONDS = 900  # after which an emulator is stopped


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
        return outcome_of(monitor, lines, name, counts, "" if counts else why or unread)


def run_counted(
    target: Target, sources: Sequence[Path], folder: Path
) -> tuple[list[str], list[int]]:
    """A program of the runtime with all ops and of sources in C, with a main(): what it printed, in
    the harness's frame, and the instructions between each pair of its ``MARKS``. Raises TargetError
    if something is missing, fails, or does not fit, or if nothing counts."""
    amalgamate(target, folder, None)
    try:
        program = linked(target, sources, (), folder)
    except TooSmallError as error:
        raise TargetError(
            f"target {target.name}: the program does not fit into the memory of {error}; fewer may"
        ) from None
    plugin, why = _plugin(program, folder)
    if not plugin:
        raise TargetError(f"target {target.name}: nothing counts instructions: {why}")
    lines = printed(target, [*_emulated(program, plugin), str(program.path)], folder)
    return lines, [int(v) for v in (folder / "counts").read_text().split()]


def _plugin(program: Program, folder: Path) -> tuple[list[str], str]:
    """Arguments that make the emulator count, or why it cannot."""
    compiler = next((cc for cc in ("cc", "gcc", "clang") if shutil.which(cc)), None)
    if compiler is None:
        return [], "no C compiler of this machine, which the counter is built with"
    runner = Path(program.emulator.command[0]).name
    if not runner.startswith("qemu"):
        return [], f"{runner} is not QEMU, whose plug-in counts them"
    if absent := missing(program.emulator.command[:1]):
        return [], f"{absent[0]} is not installed, which counts them"
    built = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O2", "-o", "count.so", str(BOARDS / "count.c")],
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if built.returncode:
        return [], f"the counter cannot be built: {' '.join(built.stderr.split())[:200]}"
    begin, end = program.marks
    # By names in the folder that the emulator runs in: a comma in a path would end the argument.
    spec = f"./count.so,begin={begin:#x},end={end:#x},out=counts"
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
        if (lines := between(text)) is not None:
            return lines
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
    """What the counter wrote: nothing, em_open, em_self_test, each row, and with a table of
    accuracy an image counted there and an estimate."""
    path = folder / "counts"
    found = [int(v) for v in path.read_text().split()] if path.exists() else []
    if len(found) not in (3 + rows, 5 + rows):
        return None, "the artifact was refused" if found else "the emulator loaded no counter"
    _, opened, self_test, *rest = (n - found[0] for n in found)
    accuracy = (rest[rows], rest[rows + 1]) if len(rest) > rows else None
    return Instructions(opened, self_test, tuple(rest[:rows]), accuracy), ""
