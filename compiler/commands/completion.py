"""What a shell may offer for the value of an option. Nothing heavy is imported for it."""

from __future__ import annotations

from edgemon.compiler.commands.named_monitors import AUTO, SETTINGS


def targets(incomplete: str) -> list[str]:
    """Names of the targets that ship."""
    from edgemon.targets import names

    return [name for name in names() if name.startswith(incomplete)]


def monitors(incomplete: str) -> list[str]:
    """Of the last monitor in a list its name, and behind a colon its settings."""
    front, comma, last = incomplete.rpartition(",")
    parts = last.split(":")
    if len(parts) == 1:
        offers = [name for name in (AUTO, *SETTINGS) if name.startswith(last)]
    else:
        settings = SETTINGS.get(parts[0], {})
        offers = [":".join((*parts[:-1], f"{s}=")) for s in settings if s.startswith(parts[-1])]
    return [f"{front}{comma}{offer}" for offer in offers]
