"""Reading target profiles."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

from edgemon.runtime.errors import EdgemonError

PROFILES = Path(__file__).parent / "profiles"
DEFAULT = "host-x86_64"


class TargetError(EdgemonError):
    """A target is unknown, or its toolchain is missing or fails."""


@dataclass(frozen=True)
class Target:
    """A device: which kernels run the classifier, and which compiler builds the runtime."""

    name: str
    description: str
    architecture: str
    kernels: str  # "xnnpack", "builtin" or "reference"
    cc: str
    cflags: tuple[str, ...]
    size: str  # the toolchain's size(1)


def names() -> list[str]:
    """Names of the profiles that ship with edgemon."""
    return sorted(p.stem for p in PROFILES.glob("*.toml"))


def load(name: str) -> Target:
    """The target with this name."""
    path = PROFILES / f"{name}.toml"
    if name not in names():
        raise TargetError(f"--target {name}: unknown target; there are {', '.join(names())}")
    profile = tomllib.loads(path.read_text())
    tools = profile["toolchain"]
    return Target(
        name,
        profile["description"],
        profile["architecture"],
        profile["kernels"],
        tools["cc"],
        tuple(tools["cflags"]),
        tools["size"],
    )
