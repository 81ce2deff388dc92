"""What runs a target's programs here: the tables ``[[emulator]]`` of a profile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from edgemon.targets.errors import TargetError

BOARDS = Path(__file__).parent / "boards"
KEYS = ("command", "sources", "script", "packages", "description")


@dataclass(frozen=True)
class Emulator:
    """``command`` runs a program, whose path is appended. Without ``script`` it is a program of the
    target's operating system; with it one for the bare metal of a board."""

    command: tuple[str, ...]
    sources: tuple[Path, ...]  # what the board needs besides the harness: start-up, input, output
    script: Path | None  # the linker script
    packages: tuple[str, ...]  # Debian's, that bring it
    description: str


def emulators(content: Mapping[str, Any], folder: Path, where: str) -> tuple[Emulator, ...]:
    """Of a profile in ``folder``: tried in order until the program fits the board's memory. Files
    are those of ``targets/boards``, or lie beside the profile. Raises TargetError."""
    tables = content.get("emulator", [])
    if isinstance(tables, dict):
        tables = [tables]
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise TargetError(f"{where}: emulator must be a table")
    return tuple(_emulator(table, folder, f"{where}: [emulator]") for table in tables)


def _emulator(table: Mapping[str, Any], folder: Path, where: str) -> Emulator:
    if unknown := [key for key in table if key not in KEYS]:
        raise TargetError(f"{where}: unknown {unknown[0]!r}; there are {', '.join(KEYS)}")
    script = table.get("script")
    if script is not None and not isinstance(script, str):
        raise TargetError(f"{where} script = {script!r}: give the name of a linker script")
    command = texts(table, "command", where)
    if not command:
        raise TargetError(f"{where} command = []: name the program that runs others")
    if "/" in command[0]:  # a script beside the profile; it is run in another folder
        command = (str((folder / command[0]).resolve()), *command[1:])
    return Emulator(
        command,
        tuple(_file(name, folder, where) for name in texts(table, "sources", where)),
        None if script is None else _file(script, folder, where),
        texts(table, "packages", where),
        str(table.get("description", " ".join(command[:1]))),
    )


def texts(table: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    """A list of texts, empty where the key is missing. Raises TargetError."""
    found = table.get(key, [])
    if not isinstance(found, list) or not all(isinstance(v, str) for v in found):
        raise TargetError(f"{where} {key} = {found!r}: give a list of texts")
    return tuple(found)


def _file(name: str, folder: Path, where: str) -> Path:
    for path in (folder / name, BOARDS / name):
        if path.is_file():
            return path.resolve()
    raise TargetError(
        f"{where}: {name}: no such file, neither beside the profile nor among edgemon's own "
        f"({', '.join(sorted(p.name for p in BOARDS.iterdir() if p.suffix in ('.c', '.ld')))})"
    )
