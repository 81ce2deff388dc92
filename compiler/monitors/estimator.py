"""The contract of a monitor: a scikit-learn style estimator that lowers to a program.

A new monitor is one file in this folder plus its registration in ``__init__.py``, or a package of
its own (see ``registry``); ``check_monitor`` tells whether it keeps the contract. Its constructor
stores parameters and does nothing else. It declares its settings and the rows it needs; ``fit``
checks them and calls ``_fit``, which learns from a recording; learned state ends in ``_``;
``lower`` adds the score to a real program. Positive means "the model is wrong", and a higher score
is more suspicious.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Flag, auto
from types import MappingProxyType
from typing import Any, ClassVar, Self, final

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from threadpoolctl import threadpool_limits

from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.groups import Groups
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.model import Model
from edgemon.compiler.program.ir import Builder, Monitor
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.timings import timed
from edgemon.runtime.preprocess import Preprocess
from edgemon.targets import Budget

SMALL_FIT = 1 << 22  # elements of what is learned from
SEEDS = (0, 2**32 - 1)  # that NumPy and scikit-learn take


class Needs(Flag):
    """What there must be among the fit rows."""

    NOTHING = 0
    RIGHT = auto()  # rows on which the model is right
    WRONG = auto()
    BOTH = RIGHT | WRONG
    CLASSES = auto()  # labels of two classes


@dataclass(frozen=True)
class Analysis:
    """What an estimator found in the model: the rules or names of the taps to read where the user
    chose none, and parameters that the model decides, of those ``from_model``."""

    taps: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)


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

    def monitor(self, name: str) -> Monitor:
        """At the method's own thresholds; 0 where it has none."""
        alarm = 0.0 if self.alarm_above is None else self.alarm_above
        uncertain = alarm if self.uncertain_above is None else self.uncertain_above
        return Monitor(name, self.id, alarm, uncertain, self.display, self.display_scale)


class MonitorEstimator(BaseEstimator, ABC):  # type: ignore[misc] # scikit-learn is untyped
    """Base of all monitors. ``taps`` are names of tensors in the recording.

    A *fusion* makes one score of several members' and learns in two steps: ``fit`` fits the
    members, ``combine`` learns from held-out rows what their scores mean. The last part of the
    contract is for fusions; a monitor by itself has no members, and leaves it as it is."""

    kind: ClassVar[str]
    default_taps: ClassVar[tuple[str, ...]]  # rules of compiler.models.tap_rules
    least_taps: ClassVar[int] = 1
    most_taps: ClassVar[int | None] = 1  # None: any number
    reads_layers: ClassVar[bool] = True  # does a bare ``--taps RULE`` mean this monitor too?
    companion_view: ClassVar[str] = ""  # "odin" or "companion": see ``companion``
    companion_source: ClassVar[str] = ""  # of one that needs --companion: who makes the file
    needs: ClassVar[Needs] = Needs.NOTHING
    limits: ClassVar[dict[str, tuple[float, float]]] = {}  # of settings: least, most
    choices: ClassVar[dict[str, tuple[str, ...]]] = {}  # of settings that are words
    from_model: ClassVar[tuple[str, ...]] = ("taps",)  # parameters that are not settings
    what: ClassVar[str]  # one line for people
    source: ClassVar[str] = ""  # the publication that the method comes from, for people

    # Does it learn from labels what errors look like? From another changed copies of rows (--guard)
    # are kept: what is usual, or typical of the layers, is that of rows as they are.
    learns_errors: ClassVar[bool] = True
    # And from moved copies (--augment), of which rules and boxes would become more?
    learns_from_moved: ClassVar[bool] = False

    learns_from_held_out: ClassVar[bool] = False  # by ``combine``: is it a fusion?

    taps: tuple[str, ...]
    seed: int = 0  # a parameter of those that draw

    members_: tuple[MonitorEstimator, ...] = ()  # the fitted ones
    left_out_: Mapping[str, str] = MappingProxyType({})  # why, by kind
    weights_: Mapping[str, float] = MappingProxyType({})  # of members in the score, by kind
    learned_from_: str = ""  # which rows taught it the weights, for people

    def analyse(self, model: Model) -> Analysis:  # noqa: ARG002 - a hook
        """Look at the model itself, before anything is recorded."""
        return Analysis(self.default_taps)

    def companion(self, model: Model, preprocess: Preprocess) -> bytes | None:  # noqa: ARG002
        """The file of the companion model that it brings for taps of its ``companion_view``, made
        for this model; None of one that brings none. Called before ``analyse``. Raises CompileError
        where there can be none, in a sentence that says why."""
        return None

    def least_bytes(self, recording: Recording) -> int:  # noqa: ARG002 - a hook
        """Fewest bytes that its tables will take, as far as classes and features alone tell: so
        that what cannot fit a budget is not fitted at all."""
        return 0

    def smaller(self, recording: Recording) -> MonitorEstimator | None:  # noqa: ARG002 - a hook
        """The same monitor in its next smaller form, unfitted, with fewer ``least_bytes``: fewer
        dimensions or features. None of one that has none. ``stored_as`` says which it is."""
        return None

    @property
    def stored_as(self) -> str:
        """What it stores, in a few words; "" of one that has no ``smaller`` form."""
        return ""

    @final
    def fit(self, recording: Recording) -> Self:
        """Learn from labelled rows. Raises CompileError if taps, settings or rows do not suit."""
        self.check_taps()
        self.check_settings()
        if not self.learns_errors:
            recording = recording.as_given
        elif not (self.learns_from_moved or self.members):
            recording = recording.without_moved
        self.check_rows(recording)
        with timed(self.kind):
            if self.members or len(recording) * recording.width(self.taps) > SMALL_FIT:
                self._fit(recording)
            else:
                with threadpool_limits(1):  # threads of linear algebra would wait for each other
                    self._fit(recording)
        return self

    @abstractmethod
    def _fit(self, recording: Recording) -> None:
        """Learn from labelled rows, which are as declared."""

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
        """Raises CompileError if a setting is outside its limits or none of its choices."""
        for name, (least, most) in {**self.limits, "seed": SEEDS}.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise CompileError(
                    f"--monitor {self.kind}: {name}={value} must lie between {least:.10g} and "
                    f"{most:.10g}"
                )

        for name, known in self.choices.items():
            if getattr(self, name) not in known:
                raise CompileError(
                    f"--monitor {self.kind}: {name}={getattr(self, name)!r} is unknown; "
                    f"use {', '.join(known)}"
                )

    def check_rows(self, recording: Recording) -> None:
        """Raises CompileError unless the fit rows are as ``needs`` says."""
        right = recording.correct if self.needs & Needs.BOTH else np.empty(0, bool)
        if Needs.BOTH in self.needs and (right.all() or not right.any()):
            raise CompileError(
                f"{self.kind}: all {right.size} fit rows are classified "
                f"{'correctly' if right.any() else 'wrongly'}; it learns from both, so fit on rows "
                "that the model was not trained on (--fit)"
            )
        if Needs.RIGHT in self.needs and not right.any():
            raise CompileError(
                f"{self.kind}: no fit row is classified correctly; check --preprocess"
            )
        if Needs.CLASSES in self.needs and len(np.unique(np.asarray(recording.labels))) < 2:
            raise CompileError(
                f"{self.kind}: the fit rows are all of one class; give rows of more (--fit)"
            )

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

    @property
    def members(self) -> tuple[MonitorEstimator, ...]:
        """A fusion's, before they are fitted."""
        return ()

    @property
    def budget(self) -> Budget:
        """What a fusion and its signals may take together."""
        return Budget()

    def without(self, members: Sequence[MonitorEstimator]) -> Self:  # noqa: ARG002 - a hook
        """Give up members before anything is fitted; of the others' taps are then its own."""
        return self

    def fit_members(
        self,
        recording: Recording,
        fit: Callable[[MonitorEstimator], MonitorEstimator],
    ) -> None:
        """Have the members fitted by ``fit``, which returns the member or one that is equal. Those
        that cannot learn from these rows are left out. Raises CompileError if no signal is left."""

    def combine(
        self, scores: npt.NDArray[np.float64], wrong: npt.NDArray[np.bool_], bill: Bill,
        groups: Groups | None = None, *, thresholds: int = 1,
    ) -> None:  # fmt: skip
        """Learn from held-out rows on which the model is ``wrong`` (n,).

        Args:
            scores: (n, ``members_``) as the device computes them.
            bill: what any of these members cost together.
            groups: (n,) of the rows, if they come in groups.
            thresholds: how many it will have: 1, or one of each class.
        """

    def leave_out(self, members: Mapping[MonitorEstimator, str]) -> None:
        """Of ``members_`` those that could not be judged, and why. Raises CompileError if no signal
        is left."""

    def is_kept(self, member: MonitorEstimator) -> bool:
        """Is this one of ``members_`` part of the score that ``combine`` made?"""
        return member.kind in self.weights_

    def is_novelty(self, member: MonitorEstimator) -> bool:  # noqa: ARG002 - a hook
        """Is this member for novel inputs, which no error teaches a weight?"""
        return False

    def signal_names(self) -> list[str]:
        """Names of the members that are kept, as the artifact's monitors are called."""
        return [f"{self.kind}.{member}" for member in self.weights_]

    def signal_monitors(self) -> list[Monitor]:
        """After ``lower``: the members that are kept, to be read beside the score. They never alarm
        by themselves."""
        return []

    def explanation_json(self) -> dict[str, Any]:
        """What a session needs to say which signal alarmed."""
        return {}
