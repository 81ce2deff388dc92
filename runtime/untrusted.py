"""What comes from a bundle that somebody else made: files, JSON and texts, each bounded."""

from __future__ import annotations

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from edgemon.runtime.errors import DamagedError

MOST_BYTES = {  # of a bundle's files, by name; what is not here is a model
    "monitor.emon": 1 << 28,  # the format's own limit
    "manifest.json": 1 << 26,
    "report.json": 1 << 28,
    "report.html": 1 << 28,
    "splits.npz": 1 << 28,
    "accuracy.npz": 1 << 28,
    "monitor.h": 1 << 31,
    "manifest.sig": 4096,
    "monitor.emon.sig": 64,
}
MOST_MODEL_BYTES = 1 << 31
INTEGERS = 1 << 63  # beyond, no array and no device holds them


def read(path: Path) -> bytes:
    """The content of a bundle's file. Raises DamagedError unless it is a regular file (no device,
    no pipe) of a size that such a file may have, and OSError if it cannot be read."""
    most = MOST_BYTES.get(path.name, MOST_MODEL_BYTES)
    # Not to wait for the other end of a pipe.
    with os.fdopen(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise DamagedError(f"{path}: no regular file; compile the bundle again")
        content = file.read(most + 1) if found.st_size <= most else b""
    if found.st_size > most or len(content) > most:
        raise DamagedError(
            f"{path}: larger than the {most:,} bytes that such a file may have; compile the bundle "
            "again"
        )
    return content


def parse_json(text: bytes, *, once: bool = False) -> Any:
    """A JSON document of numbers that are finite and fit 64 bits. ``once``: no object states a key
    twice. Raises ValueError, also for what is nested too deeply."""
    try:
        return json.loads(
            text.decode("utf-8"),
            parse_int=_integer,
            parse_float=_real,
            parse_constant=_no_number,
            object_pairs_hook=_without_repeats if once else None,
        )
    except RecursionError:
        raise ValueError("nested too deeply") from None


class RepeatedKeyError(ValueError):
    """An object states a key twice."""


def printable(text: str, *, lines: bool = False) -> str:
    """A text whose control characters are spelled out, so that it cannot steer a terminal; also
    those that turn the direction of writing, and lone surrogates. ``lines``: line feeds stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or (lines and c == "\n") else _spelled(c) for c in text)


def _spelled(c: str) -> str:
    if c.isspace() and ord(c) > 0x20 and c not in "\x85\u2028\u2029":
        return c  # a space of another width
    return repr(c)[1:-1]


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) <= 20 else INTEGERS
    if not -INTEGERS <= value < INTEGERS:
        raise ValueError("an integer of more than 64 bits")
    return value


def _real(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError("a number beyond the largest")
    return value


def _no_number(name: str) -> float:
    raise ValueError(f"{name} is not a number")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise RepeatedKeyError("a key is stated twice")
    return found
