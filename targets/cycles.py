"""Cycles of a core by a stated model, not by measurement: the table ``[cycles]`` of a profile.

An instruction takes from ``least`` to ``most`` cycles on average, whatever the program; a core
whose maker states no upper figure has no ``most``. Not in it: wait states of flash, caches that
miss, and other masters of the bus.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from edgemon.targets.errors import TargetError

FIELDS = ("least", "most", "megahertz", "source")
MOST = {"least": 1e3, "most": 1e3, "megahertz": 1e5}  # more is a mistake


@dataclass(frozen=True)
class Cycles:
    """A core's model. ``least``, ``most``: cycles an instruction."""

    least: float
    most: float | None  # None: nobody states one
    megahertz: float
    source: str  # who states the figures

    @classmethod
    def from_toml(cls, table: Any, where: str) -> Cycles:
        """A table ``[cycles]``. Raises TargetError, which begins with ``where``."""
        where = f"{where}: [cycles]"
        if not isinstance(table, dict):
            raise TargetError(f"{where}: must be a table with {', '.join(FIELDS)}")
        for key in table:
            if key not in FIELDS:
                raise TargetError(f"{where}: unknown {key!r}; there are {', '.join(FIELDS)}")
        source = table.get("source")
        if not isinstance(source, str) or not source:
            raise TargetError(f"{where} source = {source!r}: say who states these figures")
        least, megahertz = (_number(table, key, where) for key in ("least", "megahertz"))
        most = _number(table, "most", where) if "most" in table else None
        if most is not None and most < least:
            raise TargetError(f"{where} most = {most:g} is below least = {least:g}")
        return cls(least, most, megahertz, source)

    def of(self, instructions: float) -> tuple[float, float | None]:
        """Least and most cycles of so many instructions."""
        return instructions * self.least, None if self.most is None else instructions * self.most

    def microseconds(self, instructions: float) -> tuple[float, float | None]:
        """The same as time, at the stated clock."""
        least, most = self.of(instructions)
        return least / self.megahertz, None if most is None else most / self.megahertz


def _number(table: Mapping[str, Any], key: str, where: str) -> float:
    value: Any = table.get(key)
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not (number and math.isfinite(value) and 0 < value <= MOST[key]):
        raise TargetError(f"{where} {key} = {value!r}: give a number above 0, to {MOST[key]:g}")
    return float(value)
