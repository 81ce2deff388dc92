"""Why a fusion of signals alarms: which of them is how surprising."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Term:
    """What one signal adds to a fusion: the k-th value (nats) above ``knots[k - 1]`` and up to
    ``knots[k]``. 99 % of correct held-out rows score at most ``usual``."""

    monitor: str
    what: str
    knots: tuple[float, ...]
    values: tuple[float, ...]
    usual: float
    learned: bool = True  # part of the stack?

    def surprise(self, score: float) -> float:
        """Nats that this score adds."""
        return _step(self.knots, self.values, score)


@dataclass(frozen=True)
class Explanation:
    """The terms of one fusion. With a ``stack``, the learned terms together add what it makes of
    their sum: knots and values as of a term."""

    terms: tuple[Term, ...]
    stack: tuple[tuple[float, ...], tuple[float, ...]] | None = None

    @classmethod
    def from_json(
        cls, found: Sequence[Mapping[str, Any]], stack: Mapping[str, Any] | None = None
    ) -> Explanation:
        """From an artifact's metadata. Raises KeyError, TypeError or ValueError if damaged."""
        terms = tuple(
            Term(
                str(t["monitor"]),
                str(t["what"]),
                tuple(float(v) for v in t["knots"]),
                tuple(float(v) for v in t["values"]),
                float(t["usual"]),
                bool(t["learned"]),
            )
            for t in found
        )
        steps = [(t.knots, t.values) for t in terms]
        if stack is not None:
            knots, values = (tuple(float(v) for v in stack[k]) for k in ("knots", "values"))
            steps.append((knots, values))
        if not terms or any(len(values) != len(knots) + 1 for knots, values in steps):
            raise ValueError("terms")
        return cls(terms, steps[-1] if stack is not None else None)

    def surprises(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Nats that each signal adds, by its monitor's name, from the scores as they are shown. A
        stack's nats are shared out among its signals in proportion to their own."""
        known = [t for t in self.terms if t.monitor in scores]
        nats = {t.monitor: t.surprise(scores[t.monitor]) for t in known}
        if self.stack is None:
            return nats
        learned = [t.monitor for t in known if t.learned]
        total = sum(nats[name] for name in learned)
        share = _step(*self.stack, total) / total if total > 0 else 0.0
        return {name: n * share if name in learned else n for name, n in nats.items()}

    def sentence(self, scores: Mapping[str, float]) -> str:
        """The most surprising signal, and how it compares with correct rows."""
        nats = self.surprises(scores)
        term = max(self.terms, key=lambda t: nats.get(t.monitor, -1.0))
        score = scores.get(term.monitor, float("nan"))
        text = f"{term.what}: {score:.3g}, where 99 % of correct rows stay below {term.usual:.3g}"
        if len(self.terms) == 1:
            return text
        others = sum(nats.values()) - nats.get(term.monitor, 0.0)
        return f"{text} ({nats.get(term.monitor, 0.0):.1f} nats; the other signals {others:.1f})"


def _step(knots: Sequence[float], values: Sequence[float], at: float) -> float:
    return values[min(bisect_left(knots, at), len(values) - 1)]
