"""The rules of layer agreement as nodes: whole numbers, looked up in small tables.

With C classes, the predicted class a and a class c that a layer infers, ``a + C * c`` carries both.
Sums are made of ``sub``, with the signs in the tables: a sum by ``add`` is int64, which no table
takes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import CompileError
from edgemon.compiler.methods.selfchecker import SelfChecker
from edgemon.compiler.monitors.estimator import Score
from edgemon.compiler.program.ir import Builder

Ints = npt.NDArray[np.int64]

WHOLE = 1 << 20  # all votes, in the score of a rule that counts layers
HALF = WHOLE // 2
FINE = 16  # levels below a step of the advice's score
LARGEST_ADVICE = 1 << 24
FINEST_WEIGHT = 1 << 12
LARGEST_TABLE = 65536


@dataclass(frozen=True, eq=False)
class Lookup:
    """A term of a sum: ``entries[index - base]``, clamped at both ends."""

    index: int  # value id
    entries: Ints
    base: int = 0


class Rules:
    """Adds the rule of a fitted checker to a program.

    ``layers``: value ids of the classes that the layers infer, in the checker's order.
    """

    def __init__(
        self, builder: Builder, predicted: int, layers: Sequence[int], checker: SelfChecker
    ) -> None:
        self.builder = builder
        self.predicted = predicted
        self.layers = tuple(layers)
        self.checker = checker
        self.classes = checker.n_classes

    def score(self, fine: Sequence[int]) -> Score:
        """The method's own verdict decides. ``fine`` are terms whose sum is at least 0 and less
        than ``room``; they rank rows between two steps of the rule."""
        step, scale = room(self.checker), 1 / WHOLE
        if self.checker.rule == "majority":
            value, alarm_above = self._sum(self._majority(HALF)), HALF - 1
        elif self.checker.rule == "any_disagrees":
            value, alarm_above = self._sum(self._any_disagrees(step)), step - 1
        else:
            value, alarm_above = self._advice(), step - 1
            scale = 1 / (2 * FINE * self._parts() * self._resolution())
        total = self.builder.node("sum", self._concat([value, *fine]))
        return Score(total, alarm_above=alarm_above, display_scale=scale)

    def _majority(self, half: int) -> list[Lookup]:
        """Their sum is at least ``half`` iff at least half of the alarm layers disagree; a layer's
        vote is worth the same share of HALF whatever the predicted class."""
        sizes = np.array([len(s) for s in self.checker.alarm_layers_])
        vote = HALF // sizes
        start = half - vote * sizes
        found = []
        for i, layer in enumerate(self.layers):
            asked = np.array([i in s for s in self.checker.alarm_layers_])
            worth = np.where(asked, 2 * vote, 0)
            beyond = self._unequal(layer, self.predicted, -self.classes)
            index = self.builder.node("sub", self.predicted, beyond)
            found.append(Lookup(index, np.concatenate([start, start + worth])))
            start = 0 * start
        return found

    def _any_disagrees(self, vote: int) -> list[Lookup]:
        difference = [self.builder.node("sub", layer, self.predicted) for layer in self.layers]
        return [
            Lookup(d, vote * np.array([1, 0, 1]), base=-1)
            for d, varies in zip(difference, self.checker.varying_, strict=True)
            if varies
        ] or [Lookup(difference[0], np.zeros(1, np.int64))]

    def _advice(self) -> int:
        """By how much the best other class beats the predicted one, doubled, and one more where
        the other is lower and so wins a tie; in units of FINE. Positive iff the advice differs."""
        if 2 * self.classes**2 + 1 > LARGEST_TABLE:
            raise CompileError(
                f"selfchecker: {self.classes} classes are too many for the tables of "
                "rule=advice_differs; use rule=majority"
            )
        b = self.builder
        net = self._sum(self._majority(0))
        alarmed = b.node("exceeds", net, tables=[np.array([-1], np.int32)])
        group = self._lut(Lookup(alarmed, np.array([0, -(self.classes**2)])))
        own = self._sum(self._class_score(self.predicted, group))
        # A class that no layer infers scores nothing; class 0 is the lowest of them.
        nothing = self._lut(Lookup(self.predicted, np.array([0, FINE])))
        ahead = [b.node("sub", nothing, own)]
        for layer in self.layers:
            lead = b.node("sub", self._sum(self._class_score(layer, group)), own)
            order = b.node("sub", layer, self.predicted)
            wins_tie = self._lut(Lookup(order, np.array([-FINE, 0]), base=-1))
            ahead.append(b.node("sub", lead, wins_tie))
        return b.node("max", self._concat(ahead))

    def _class_score(self, asked: int, group: int) -> list[Lookup]:
        """What the layers that infer the class ``asked`` are worth."""
        b, c = self.builder, self.classes
        part = self._lut(Lookup(asked, -c * np.arange(c)))
        index = b.node("sub", b.node("sub", self.predicted, part), group)
        found = []
        for i, layer in enumerate(self.layers):
            beyond = self._unequal(layer, asked, -2 * c * c)
            found.append(Lookup(b.node("sub", index, beyond), self._worth(i)))
        return found

    def _worth(self, layer: int) -> Ints:
        """(2 C^2 + 1,): of a layer's word, by group, inferred and predicted class; then 0."""
        c = self.classes
        table = np.zeros(2 * c * c + 1, np.int64)
        for alarmed, advices in self.checker.advice_.items():
            for (a, k), advice in advices.items():
                if layer in advice.layers:
                    weight = round((advice.weight or 1 / c) * self._resolution())
                    share = self._parts() // len(advice.layers)
                    table[(c * c if alarmed else 0) + c * k + a] = 2 * FINE * weight * share
        return table

    def _parts(self) -> int:
        """Into so many parts a class's score divides, for shares of its layers to be whole."""
        groups = self.checker.advice_.values()
        return lcm(*{len(advice.layers) for advices in groups for advice in advices.values()})

    def _resolution(self) -> int:
        """Steps of a weight, which is at most 1."""
        return max(1, min(FINEST_WEIGHT, LARGEST_ADVICE // (2 * FINE * self._parts())))

    def _unequal(self, x: int, y: int, worth: int) -> int:
        """``worth`` where two classes differ, else 0."""
        difference = self.builder.node("sub", x, y)
        return self._lut(Lookup(difference, worth * np.array([1, 0, 1]), base=-1))

    def _sum(self, terms: Sequence[Lookup], sign: int = 1) -> int:
        """An int32 sum: left half minus the negative of the right one."""
        if len(terms) == 1:
            return self._lut(terms[0], sign)
        half = (len(terms) + 1) // 2
        left, right = self._sum(terms[:half], sign), self._sum(terms[half:], -sign)
        return self.builder.node("sub", left, right)

    def _lut(self, term: Lookup, sign: int = 1) -> int:
        tables = [(sign * term.entries).astype(np.int32), np.array([term.base], np.int32)]
        return self.builder.node("lut", term.index, tables=tables)

    def _concat(self, terms: Sequence[int]) -> int:
        joined, *others = terms
        for term in others:
            joined = self.builder.node("concat", joined, term)
        return joined


def room(checker: SelfChecker) -> int:
    """How many whole numbers, from 0 on, fit below one step of the rule's score."""
    if checker.rule == "majority":
        return HALF // max(len(s) for s in checker.alarm_layers_)
    if checker.rule == "any_disagrees":
        return WHOLE // max(1, int(checker.varying_.sum()))
    return FINE


def layers_used(checker: SelfChecker) -> list[int]:
    """The layers that the rule looks at, for whatever row."""
    used = {i for layers in checker.alarm_layers_ for i in layers}
    if checker.rule == "any_disagrees":
        used = set(np.flatnonzero(checker.varying_).tolist()) or {0}
    elif checker.rule == "advice_differs":
        groups = checker.advice_.values()
        used |= {i for advices in groups for advice in advices.values() for i in advice.layers}
    return sorted(used)
