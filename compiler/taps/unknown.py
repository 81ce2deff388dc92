"""Whose taps ``--taps`` names, where no monitor is called so."""

from __future__ import annotations

from collections.abc import Collection

from edgemon.compiler.errors import CompileError
from edgemon.targets.nearest import choices


def unknown(part: str, name: str, kinds: Collection[str], fusions: Collection[str]) -> CompileError:
    """The mistake in ``part``, where ``kinds`` have taps. A fusion's name is right, but only its
    signals have some."""
    if name in fusions:
        rules = part.rpartition("=")[2]
        return CompileError(
            f"--taps {part}: {name!r} is a fusion, and only its signals read taps; write "
            f"SIGNAL={rules}, SIGNAL one of {', '.join(kinds)}"
        )
    return CompileError(f"--taps {part}: {name!r} is not among the monitors{choices(name, kinds)}")
