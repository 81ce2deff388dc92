"""What a pipeline demands: ``net_trust>=0.75,robust(rotation=10)>=0.8``."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from edgemon.compiler.errors import BudgetError, CompileError
from edgemon.targets.nearest import choices

OF_TRUST = (  # figures of ``trust``; the last one of a bundle
    "net_trust", "class_trust", "accuracy", "ece", "brier", "monitored_net_trust",
)  # fmt: skip
FORM = re.compile(r"\s*([a-z_]+(?:\([^()]*\))?)\s*(>=|<=)\s*([-+.0-9e]+)\s*")


@dataclass(frozen=True)
class Requirement:
    """A figure that must be at least, or at most, so much."""

    name: str
    at_least: bool
    limit: float

    def __str__(self) -> str:
        return f"{self.name} {'>=' if self.at_least else '<='} {self.limit:g}"


def parse(text: str, example: str = "net_trust>=0.75") -> list[Requirement]:
    """Raises CompileError for what is no requirement; ``example`` shows what is one."""
    found = []
    for part in _parts(text):
        match = FORM.fullmatch(part)
        try:
            limit = float(match.group(3)) if match else math.nan
        except ValueError:
            limit = math.nan
        if match is None or not math.isfinite(limit):
            raise CompileError(
                f"--require {part.strip()!r} is not understood; write {example}, or several "
                "with commas between them"
            )
        found.append(Requirement(match.group(1).replace(" ", ""), match.group(2) == ">=", limit))
    return found


def require_known(wanted: list[Requirement], known: Collection[str]) -> None:
    """Raises CompileError for a name that is not measured."""
    for requirement in wanted:
        if requirement.name not in known:
            raise CompileError(
                f"--require {requirement.name}: is not measured here"
                f"{choices(requirement.name, sorted(known))}"
            )


def require(wanted: list[Requirement], measured: Mapping[str, float | None]) -> list[str]:
    """A sentence for each that is kept. Raises CompileError for a name that is not measured, and
    BudgetError that names all that are missed; a figure that is undefined is missed."""
    require_known(wanted, measured)
    values = [(r, measured[r.name]) for r in wanted]
    missed = [
        f"{r.name} is {'undefined' if v is None else f'{v:.4g}'}, and must be {r}".replace(
            f"must be {r.name} ", "must be "
        )
        for r, v in values
        if v is None or (v < r.limit if r.at_least else v > r.limit)
    ]
    if missed:
        raise BudgetError("; ".join(missed))
    return [f"{r}: {v:.4g}" for r, v in values]


def _parts(text: str) -> list[str]:
    """Between commas that are in no brackets."""
    return [part for part in re.split(r",(?![^()]*\))", text) if part.strip()]
