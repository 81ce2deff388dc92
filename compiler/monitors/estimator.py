"""The contract of a monitor: a scikit-learn style estimator that lowers to a program.

A new monitor is one file in this folder plus its registration in ``__init__.py``. Its constructor
stores parameters and does nothing else; ``fit`` learns from a recording and returns self; learned
state ends in ``_``; ``lower`` adds the score to a real program. Positive means "the model is
wrong", and a higher score is more suspicious.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.model import Model
from edgemon.compiler.program.ir import Builder
from edgemon.compiler.recording.recording import Recording

SEEDS = (0, 2**32 - 1)  # that NumPy and scikit-learn take


@dataclass(frozen=True)
class Score:
    """A monitor's score in a real program, and the thresholds that the method itself prescribes.

    ``alarm_above`` is None where the method has none: it is then calibrated on held-out rows.
    """

    id: int
    alarm_above: float | None = None
    uncertain_above: float | None = None
    display: str = "linear"
    display_scale: float = 1.0


class MonitorEstimator(BaseEstimator, ABC):  # type: ignore[misc] # scikit-learn is untyped
    """Base of all monitors. ``taps`` are names of tensors in the recording."""

    kind: ClassVar[str]
    default_taps: ClassVar[tuple[str, ...]]  # rules of compiler.models.taps
    least_taps: ClassVar[int] = 1
    most_taps: ClassVar[int | None] = 1  # None: any number
    reads_layers: ClassVar[bool] = True  # does a bare ``--taps RULE`` mean this monitor too?
    limits: ClassVar[dict[str, tuple[float, float]]] = {}  # of settings: least, most
    what: ClassVar[str]  # one line for people
    source: ClassVar[str] = ""  # the publication that the method comes from, for people

    taps: tuple[str, ...]

    def analyse(self, model: Model) -> tuple[str, ...]:  # noqa: ARG002 - a hook
        """Look at the model itself, before anything is recorded; returns the rules or names of
        the taps to read where the user chose none."""
        return self.default_taps

    def least_bytes(self, recording: Recording) -> int:  # noqa: ARG002 - a hook
        """Fewest bytes that its tables will take, as far as classes and features alone tell: so
        that what cannot fit a budget is not fitted at all."""
        return 0

    @abstractmethod
    def fit(self, recording: Recording) -> Self:
        """Learn from labelled rows."""

    @abstractmethod
    def lower(self, builder: Builder, predicted: int) -> Score:
        """Add the score to a real program; ``predicted`` is the id of the predicted class."""

    @abstractmethod
    def reason(self) -> str:
        """Why it alarms: a template with ``{score}`` and ``{threshold}``."""

    def answers(self, recording: Recording) -> npt.NDArray[np.int64] | None:  # noqa: ARG002
        """(n,): the classes that a fitted monitor would answer in the model's place; None of one
        that has no answers of its own."""
        return None

    def details(self) -> dict[str, Any]:
        """What it learned, for people; JSON types only."""
        return {}

    def check_settings(self) -> None:
        """Raises CompileError if a setting is outside its limits."""
        seeds = {"seed": SEEDS} if hasattr(self, "seed") else {}
        for name, (least, most) in {**self.limits, **seeds}.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise CompileError(
                    f"--monitor {self.kind}: {name}={value} must lie between {least:.10g} and "
                    f"{most:.10g}"
                )

    def require_both(self, recording: Recording) -> npt.NDArray[np.bool_]:
        """(n,): is the model's answer wrong? Raises CompileError unless there are both kinds."""
        wrong = ~recording.correct
        if not wrong.any() or wrong.all():
            raise CompileError(
                f"{self.kind}: all {wrong.size} fit rows are classified "
                f"{'wrongly' if wrong.all() else 'correctly'}; it learns from both, so fit on rows "
                "that the model was not trained on (--fit)"
            )
        return wrong

    def check_taps(self) -> None:
        """Raises CompileError unless the number of taps suits the method."""
        most = len(self.taps) if self.most_taps is None else self.most_taps
        if not self.least_taps <= len(self.taps) <= most:
            number = "1 tap" if self.least_taps == 1 else f"{self.least_taps} taps"
            wanted = f"at least {number}" if self.most_taps is None else number
            raise CompileError(
                f"monitor {self.kind!r} needs {wanted}, but got {len(self.taps)}; "
                "choose with --taps"
            )
