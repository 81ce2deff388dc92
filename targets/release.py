"""What the runtime took in the last release: a gate on growth.

    python -m edgemon.targets.release > targets/last_release.toml

writes the numbers of now, when a release is made. A test compares: what has grown by more than
``SHARE`` needs a reason, or new numbers in the same commit, where a reader sees them.
"""

from __future__ import annotations

import subprocess
import tomllib
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from edgemon.targets.errors import TargetError
from edgemon.targets.footprint import Footprint, measure
from edgemon.targets.profile import Target, load, names

FILE = Path(__file__).with_name("last_release.toml")
SHARE = 0.05  # of growth that passes
STACKS = "em_open", "em_self_test", "em_evaluate"
Numbers = Mapping[str, int]


def compiler_version(target: Target) -> str:
    """Of a target's compiler: another one makes other code."""
    done = subprocess.run(
        [target.cc, "-dumpfullversion"], capture_output=True, text=True, check=False
    )
    return done.stdout.strip()


def numbers(own: Footprint) -> Numbers:
    """Bytes that must not grow, of the runtime with all ops."""
    return {"flash": own.code + own.read_only, **{name: own.stacks[name] for name in STACKS}}


def released() -> dict[str, dict[str, int | str]]:
    """By target: ``numbers`` of the last release, and the version of its compiler."""
    found = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: table for name, table in found.items() if isinstance(table, dict)}


def grown(before: Mapping[str, int | str], now: Numbers) -> list[str]:
    """What takes more than ``SHARE`` more than before, a sentence each."""
    return [
        f"{what}: {now[what]:,} bytes, {now[what] / int(old) - 1:.1%} more than {old:,}"
        for what, old in before.items()
        if what in now and now[what] > int(old) * (1 + SHARE)
    ]


def text() -> str:
    """The numbers of now, as TOML. Raises TargetError where a toolchain is missing."""
    lines = [
        "# The runtime with all ops, in bytes, by target, and the compiler that built it: what",
        "# `python -m edgemon.targets.release` printed when this version was released.",
        f'version = "{version("edgemon")}"',
    ]
    for name in names():
        target = load(name)
        lines += ["", f"[{name}]", f'compiler = "{compiler_version(target)}"']
        lines += [f"{what} = {value}" for what, value in numbers(measure(target)).items()]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    try:
        print(text(), end="")
    except TargetError as error:
        raise SystemExit(f"edgemon: {error}") from None
