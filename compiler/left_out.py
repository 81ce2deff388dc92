"""What the tool goes without by a choice of its own, and why: said wherever a user looks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import cast

from edgemon.compiler.documents import monitors as schema


@dataclass(frozen=True)
class LeftOut:
    """A monitor or signal that takes no part, or a tap that it does without; ``reason`` is one
    sentence without its full stop."""

    monitor: str
    reason: str

    def to_json(self) -> schema.LeftOut:
        return cast(schema.LeftOut, asdict(self))

    @property
    def sentence(self) -> str:
        return f"{self.monitor}: {self.reason}"


def each(reasons: Mapping[str, str]) -> list[LeftOut]:
    """Reasons by monitor, in their order; a reason that begins with the monitor's name says it
    once."""
    return [LeftOut(m, reason.removeprefix(f"{m}: ")) for m, reason in reasons.items()]
