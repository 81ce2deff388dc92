"""What a pipeline demands of a bundle: ``caught>=0.4,false_alarms<=0.05,kb<=16``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from edgemon.compiler.errors import CompileError
from edgemon.compiler.trust.requirements import Requirement, parse
from edgemon.targets.nearest import choices

LARGER, SMALLER = ">=", "<="
# By name: which side is better, and what it is.
FIGURES = {
    "caught": (LARGER, "share of the model's wrong answers that alarm"),
    "false_alarms": (SMALLER, "share of its right answers that alarm"),
    "precision": (LARGER, "share of the alarms that are wrong answers"),
    "mcc": (LARGER, "Matthews correlation of alarms and wrong answers"),
    "auroc": (LARGER, "of the first monitor's score, wrong answers against right ones"),
    "accuracy": (LARGER, "share of the model's right answers"),
    "kb": (SMALLER, "kB (1,024 bytes) of the tables and nodes of all monitors"),
    "us": (SMALLER, "microseconds of an evaluation, estimated for the target"),
}
OF_BUNDLE = ("kb", "us")  # all others are of rows


@dataclass(frozen=True)
class Gates:
    """``requirements`` of figures, and a ``baseline``: the bundle that must not be clearly better
    on the same rows; people know it as ``called``, or by its path."""

    requirements: tuple[Requirement, ...] = ()
    baseline: Path | None = None
    called: str = ""

    @classmethod
    def parse(cls, require: str, baseline: Path | None, called: str = "") -> Gates:
        """Raises CompileError for an unknown name, or one that is demanded from its bad side."""
        found = parse(require, example="caught>=0.4")
        for wanted in found:
            if wanted.name not in FIGURES:
                raise CompileError(
                    f"--require: unknown figure {wanted.name!r}{choices(wanted.name, FIGURES)}"
                )
            better, what = FIGURES[wanted.name]
            if wanted.at_least != (better == LARGER):
                raise CompileError(
                    f"--require {wanted.name}: the {'larger' if better == LARGER else 'smaller'} "
                    f"the better ({what}): write {wanted.name}{better}{wanted.limit:g}"
                )
        names = [wanted.name for wanted in found]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise CompileError(f"--require: {twice} is demanded twice; say it once")
        return cls(tuple(found), baseline, called)

    @property
    def old(self) -> str:
        """The baseline, as a sentence about it begins."""
        return self.called or f"--baseline {self.baseline}"

    def __bool__(self) -> bool:
        return bool(self.requirements) or self.baseline is not None

    def require_rows(self, *, there: bool) -> None:
        """Raises CompileError where they concern rows, and no labelled ones are given."""
        if self.needs_rows and not there:
            raise CompileError(
                "--require and --baseline judge alarms by what was right and wrong: give labelled "
                "rows (--data)"
            )

    @property
    def needs_rows(self) -> bool:
        """Do they concern rows?"""
        return self.baseline is not None or any(
            wanted.name not in OF_BUNDLE for wanted in self.requirements
        )
