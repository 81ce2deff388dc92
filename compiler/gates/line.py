"""One thing that is demanded, beside what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from edgemon.compiler.documents.measured import RequirementLine
from edgemon.compiler.errors import RequirementError, UnmeasuredError
from edgemon.compiler.statistics.intervals import Interval


@dataclass(frozen=True)
class Line:
    """``name`` of the figure, what is ``wanted`` of it, ``measured`` (None: it could not be, and
    ``why`` says the reason) with its 95 % ``interval``."""

    name: str
    wanted: str
    measured: float | None
    interval: Interval | None
    met: bool
    why: str = ""

    def to_json(self) -> RequirementLine:
        return {
            "name": self.name, "wanted": self.wanted, "measured": self.measured,
            "interval": self.interval, "met": self.met,
            "not_measured": self.why or None,
        }  # fmt: skip

    def __str__(self) -> str:
        if self.measured is None:
            return f"{self.name} was not measured: {self.why}"
        between = ""
        if self.interval is not None:
            between = f" (95 % interval {self.interval[0]:.4g} to {self.interval[1]:.4g})"
        return f"{self.name} is {self.measured:.4g}{between}, and must be {self.wanted}"


def require(lines: Iterable[Line], then: str = "") -> None:
    """Raises RequirementError unless all are met, and UnmeasuredError if what was measured is, but
    something was not; ``then`` ends the sentence."""
    given = list(lines)
    missed = [str(line) for line in given if not line.met and line.measured is not None]
    if missed:
        raise RequirementError(f"requirement missed: {'; '.join(missed)}{then}")
    unknown = [str(line) for line in given if line.measured is None]
    if unknown:
        raise UnmeasuredError(f"requirement not measured: {'; '.join(unknown)}{then}")
