"""Several signals as one score that explains itself.

Each signal becomes a surprise: -log of its tail probability among correct held-out rows. A *stack*
weighs surprises as a logistic regression on held-out right and wrong rows does, with weights that
cannot be negative. Profile ``errors`` is the stack. Profile ``scod`` (selective classification with
out-of-distribution detection) adds surprises of novelty signals, all with one weight: no error can
teach it, and errors bound it (``novelty_weight``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from edgemon.compiler.cost.bill import KILOBYTE, Bill, Cost, flags
from edgemon.compiler.data.groups import Groups
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.estimator import MonitorEstimator, Score
from edgemon.compiler.monitors.fusion.novelty_weight import novelty_weight
from edgemon.compiler.monitors.fusion.reduction import all_forms
from edgemon.compiler.monitors.fusion.stack import Choice, choose, stack_weights
from edgemon.compiler.monitors.fusion.sum_of_surprises import Table, fused, own_cost, table_of
from edgemon.compiler.monitors.shared.tails import UNIT, Surprise
from edgemon.compiler.program.ir import Builder, Monitor
from edgemon.compiler.program.quantise import quantise
from edgemon.compiler.recording.evaluation import predicted_class
from edgemon.compiler.recording.recording import Recording
from edgemon.targets import KILOBYTE_LIMITS, MICROSECOND_LIMITS, Budget

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

NOVELTY_SHARE = 0.5  # of the budget, for novelty signals
WEIGHTLESS = "beside the signals that joined with it, its weight in the fusion is zero"
QUANTILE = 0.99  # of correct held-out rows; explanations compare with it


@dataclass(frozen=True, eq=False)
class FusionTerm:
    """One signal of a fusion: what it adds to the score."""

    member: MonitorEstimator
    surprise: Surprise
    weight: float
    usual: float  # QUANTILE of its scores on correct held-out rows
    novelty: bool

    @property
    def table(self) -> Table:
        """Knots, and whole values in UNIT-ths of a nat."""
        return table_of(self.surprise, self.weight)


class FusionMonitor(MonitorEstimator):
    """Base of the profiles. ``signals`` are monitors that learn from errors, ``novelty`` ones that
    do not; ``unavailable`` are kinds of signals that the model cannot give, and why; ``mirror``:
    may one cost a second inference, on the mirrored image? After ``fit`` the
    members know the fit rows; ``combine`` learns the rest from held-out rows, on which the members
    are as surprised as they will be on the device."""

    most_taps: ClassVar[int | None] = None
    learns_from_held_out: ClassVar[bool] = True
    from_model: ClassVar[tuple[str, ...]] = ("taps", "signals", "novelty", "unavailable")
    left_out_: dict[str, str]
    limits: ClassVar[dict[str, tuple[float, float]]] = {
        "novelty_weight": (0, 10),  # 0: as errors allow
        "budget_kb": KILOBYTE_LIMITS,
        "budget_us": MICROSECOND_LIMITS,  # 0: no limit
    }

    def __init__(
        self,
        taps: tuple[str, ...] = (),
        signals: tuple[MonitorEstimator, ...] = (),
        novelty: tuple[MonitorEstimator, ...] = (),
        novelty_weight: float = 0.0,
        budget_kb: float = 32.0,
        budget_us: float = 0.0,
        seed: int = 0,
        mirror: bool = False,
        unavailable: tuple[tuple[str, str], ...] = (),
    ) -> None:
        self.taps = taps
        self.signals = signals
        self.novelty = novelty
        self.novelty_weight = novelty_weight
        self.budget_kb = budget_kb
        self.budget_us = budget_us
        self.seed = seed
        self.mirror = mirror
        self.unavailable = unavailable

    @property
    def members(self) -> tuple[MonitorEstimator, ...]:
        return (*self.signals, *self.novelty)

    def without(self, members: Sequence[MonitorEstimator]) -> Self:
        self.signals = tuple(m for m in self.signals if m not in members)
        self.novelty = tuple(m for m in self.novelty if m not in members)
        self.taps = tuple(dict.fromkeys(tap for m in self.members for tap in m.taps))
        return self

    def _fit(self, recording: Recording) -> None:
        self.fit_members(recording, lambda member: member.fit(recording))

    def fit_members(
        self, recording: Recording, fit: Callable[[MonitorEstimator], MonitorEstimator]
    ) -> None:
        """``left_out_`` has why members were left out or reduced, what the model itself could not
        give, and later what ``combine`` left out."""
        fitted: dict[MonitorEstimator, MonitorEstimator] = {}
        self.left_out_ = dict(self.unavailable)
        room = self.budget_kb, self.budget_kb * NOVELTY_SHARE
        novelty = self._novelty_for(recording, fit)
        for form in all_forms(self.signals, novelty, recording, *room):
            whole, member = form.whole, form.taken
            if form.why:
                self.left_out_[member.kind] = form.why
            least = member.least_bytes(recording) / KILOBYTE
            if least > self.budget_kb:
                self.left_out_[member.kind] = (
                    f"its tables take {least:,.1f} kB or more with {recording.n_classes:,} "
                    f"classes, of a budget of {self.budget_kb:g} kB; give more (--budget-kb)"
                )
                continue
            try:
                found = fit(member)
                _require_lowerable(found, recording)
                fitted[whole] = found
            except CompileError as error:
                self.left_out_[member.kind] = str(error)
        self.members_ = tuple(fitted.values())
        self.novelty_ = tuple(found for member, found in fitted.items() if member in novelty)
        self._require_signal()

    def _novelty_for(
        self,
        recording: Recording,  # noqa: ARG002 - a hook
        fit: Callable[[MonitorEstimator], MonitorEstimator],  # noqa: ARG002 - a hook
    ) -> tuple[MonitorEstimator, ...]:
        """Those of ``novelty`` that these rows call for; ``left_out_`` has why not the others."""
        return self.novelty

    def leave_out(self, members: Mapping[MonitorEstimator, str]) -> None:
        self.left_out_ |= {member.kind: why for member, why in members.items()}
        self.members_ = tuple(m for m in self.members_ if m not in members)
        self.novelty_ = tuple(m for m in self.novelty_ if m not in members)
        self._require_signal()

    def _require_signal(self) -> None:
        if len(self.members_) == len(self.novelty_):
            raise CompileError(
                f"{self.kind}: no signal can be learned from these fit rows: "
                + "; ".join(self.left_out_.values())
            )

    @property
    def budget(self) -> Budget:
        """Covers its signals and what it adds to them."""
        return Budget(self.budget_kb, self.budget_us or None)

    def combine(
        self, scores: Floats, wrong: Bools, bill: Bill, groups: Groups | None = None, *,
        thresholds: int = 1,
    ) -> None:  # fmt: skip
        right = ~wrong
        surprises = [Surprise.of(column[right]) for column in scores.T]
        seen = np.column_stack([s(c) for s, c in zip(surprises, scores.T, strict=True)])
        own = [i for i, m in enumerate(self.members_) if not self.is_novelty(m)]

        def cost(learned: Sequence[int], new: Sequence[int]) -> Cost:
            added = own_cost(
                [surprises[i] for i in learned], [surprises[i] for i in new], bill.times,
                thresholds,
            )  # fmt: skip
            return bill.together([*learned, *new]) + added

        new = self._novelty_that_fits(bill, own, cost)
        self.choices_: list[Choice] = choose(
            [self.members_[i].kind for i in own], seen[:, own], wrong,
            lambda chosen: cost([own[i] for i in chosen], new),
            [bill.together([i]) for i in own], self.budget, self.seed, groups,
        )  # fmt: skip
        self.left_out_ |= {c.signal: c.left_out for c in self.choices_ if c.left_out}
        kept = [own[c.index] for c in self.choices_ if c.kept]
        self.terms_: list[FusionTerm] = []
        stack = np.zeros(len(scores))

        def add(i: int, weight: float) -> None:
            usual = float(np.quantile(scores[right, i], QUANTILE))
            self.terms_.append(FusionTerm(self.members_[i], surprises[i], weight, usual, i in new))

        for i, weight in zip(kept, stack_weights(seen[:, kept], wrong).tolist(), strict=True):
            if weight > 0:
                add(i, weight)
                stack += _looked_up(self.terms_[-1].table, scores[:, i])
            else:
                self.left_out_[self.members_[i].kind] = WEIGHTLESS
        self.stack_surprise_ = Surprise.of(stack[right])
        for i in new:
            add(i, self._novelty_weight(self.stack_surprise_(stack), seen[:, new], wrong))
        self.weights_ = {t.member.kind: t.weight for t in self.terms_}

    def _novelty_weight(self, stack: Floats, novelty: Floats, wrong: Bools) -> float:
        return self.novelty_weight or novelty_weight(stack, novelty.sum(axis=1), wrong)

    def _novelty_that_fits(
        self, bill: Bill, own: Sequence[int], cost: Callable[[Sequence[int], Sequence[int]], Cost]
    ) -> list[int]:
        """Positions of the novelty signals, in their order, that fit in half of the budget and
        leave room for one of ``own``; a model with many classes leaves room for few."""
        us = self.budget.microseconds
        half = Budget(self.budget_kb * NOVELTY_SHARE, None if us is None else us * NOVELTY_SHARE)
        found: list[int] = []
        for i, member in enumerate(self.members_):
            if i in own:
                continue
            more = [*found, i]
            if bill.together(more).fits(half) and any(
                cost([s], more).fits(self.budget) for s in own
            ):
                found = more
            else:
                self.left_out_[member.kind] = (
                    f"its {bill.together([i])} do not fit in what novelty signals may take; "
                    f"give more ({flags(self.budget)})"
                )
        return found

    def lower(self, builder: Builder, predicted: int) -> Score:
        """Of one signal its own score, of which steps would lose the finer ones."""
        self.signal_scores_ = [t.member.lower(builder, predicted) for t in self.terms_]
        if self.alone_ is not None:
            return replace(self.signal_scores_[0], alarm_above=None, uncertain_above=None)
        parts = list(zip(self.terms_, self.signal_scores_, strict=True))
        learned = [(s.id, t.table) for t, s in parts if not t.novelty]
        new = [(s.id, t.table) for t, s in parts if t.novelty]
        return Score(fused(builder, learned, new, self.stack_surprise_), display_scale=1 / UNIT)

    @property
    def alone_(self) -> MonitorEstimator | None:
        """The only signal, if there is one."""
        return self.terms_[0].member if len(self.terms_) == 1 else None

    def reason(self) -> str:
        if self.alone_ is not None:
            return self.alone_.reason()
        return "its signals together are too surprising: {score} nats, above {threshold}"

    def is_novelty(self, member: MonitorEstimator) -> bool:
        return member in self.novelty_

    def signal_monitors(self) -> list[Monitor]:
        return [
            Monitor(name, s.id, np.inf, np.inf, s.display, s.display_scale)
            for name, s in zip(self.signal_names(), self.signal_scores_, strict=True)
        ]

    def explanation_json(self) -> dict[str, Any]:
        """What it takes to explain an alarm: for each signal its steps of surprise, in the units
        that people are shown; where there is novelty, also those of the stack (nats)."""
        found: dict[str, Any] = {"terms": self._terms_json()}
        if any(t.novelty for t in self.terms_):
            stack = self.stack_surprise_
            found["stack"] = {
                "knots": [_above(k / UNIT) for k in stack.knots.tolist()],
                "values": [_short(v) for v in stack.values.tolist()],
            }
        return found

    def _terms_json(self) -> list[dict[str, Any]]:
        found = []
        for monitor, term in zip(self.signal_monitors(), self.terms_, strict=True):
            shown = monitor.shown
            found.append(
                {
                    "monitor": monitor.name,
                    "what": term.member.what,
                    "knots": [_above(shown(k)) for k in term.surprise.knots.tolist()],
                    "values": [_short(term.weight * v) for v in term.surprise.values.tolist()],
                    "usual": _short(shown(term.usual)),
                    "learned": not term.novelty,
                }
            )
        return found

    def details(self) -> dict[str, Any]:
        return {
            "signals": [
                {"signal": t.member.kind, "weight": t.weight, "learned": not t.novelty}
                for t in self.terms_
            ],
            "learned_from": self.learned_from_,
            "selection": [c.to_json() for c in self.choices_],
            **{t.member.kind: t.member.details() for t in self.terms_},
            **({"left_out": self.left_out_} if self.left_out_ else {}),
        }


def _require_lowerable(member: MonitorEstimator, recording: Recording) -> None:
    """Raises CompileError if a fitted member makes no device program."""
    builder = Builder(recording.taps, real=True)
    predicted = predicted_class(builder, 0)
    score = member.lower(builder, predicted)
    quantise(builder.program(predicted, [Monitor(member.kind, score.id, 0.0, 0.0)]))


def _short(value: float) -> float:
    """To five digits: metadata is for people, and takes room on the device."""
    return float(f"{value:.5g}")


def _above(knot: float) -> float:
    """A knot to seven digits, never lower: scores often lie on one, and are on its near side."""
    short = float(f"{knot:.7g}")
    return short if short >= knot else float(f"{knot + abs(knot) * 1e-6:.7g}")


def _looked_up(table: tuple[Floats, Floats], scores: Floats) -> Floats:
    knots, values = table
    return np.asarray(values[np.searchsorted(knots, scores, side="left")])
