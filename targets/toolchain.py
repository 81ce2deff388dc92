"""A target's compiler and binary tools: found, or what to install; run, or why they failed."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

from edgemon import runtime
from edgemon.targets.errors import TargetError
from edgemon.targets.profile import Target

C_FOLDER = Path(runtime.__file__).parent / "c"


def missing(tools: Iterable[str]) -> list[str]:
    """The tools that are not installed."""
    return [tool for tool in tools if shutil.which(tool) is None]


def install(packages: tuple[str, ...]) -> str:
    """How missing tools are installed."""
    return f"apt-get install {' '.join(packages)}" if packages else "install it"


def require(target: Target, tools: Iterable[str], packages: tuple[str, ...], what: str) -> None:
    """Raises TargetError with what cannot be done, and what to install, unless there are all."""
    if found := missing(tools):
        raise TargetError(
            f"target {target.name}: its tool {found[0]!r} is not installed, so {what}; "
            f"{install(packages)}"
        )


def run(target: Target, command: list[str], folder: Path) -> str:
    """Standard output of a command that has to succeed. Raises TargetError with its first words."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip()
        raise TargetError(f"target {target.name}: {command[0]} failed: {_first(said)}")
    return done.stdout


def amalgamate(target: Target, folder: Path, artifact: Path | None) -> None:
    """Writes ``edgemon.c`` and ``edgemon.h``: with the ops that an artifact needs, or all."""
    command = [sys.executable, str(C_FOLDER / "amalgamate.py"), str(folder)]
    run(target, [*command, *(["--for", str(artifact)] if artifact else [])], folder)


def _first(said: str) -> str:
    """What explains a failure: from the first error on, in one line."""
    start = re.search(r"error:|undefined|overflowed|cannot", said)
    line = said.rfind("\n", 0, start.start()) + 1 if start else 0
    return re.sub(r"\s+", " ", said[line:])[:300]
