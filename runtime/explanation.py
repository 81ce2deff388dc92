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

    def surprise(self, score: float) -> float:
        """Nats that this score adds."""
        return self.values[min(bisect_left(self.knots, score), len(self.values) - 1)]


@dataclass(frozen=True)
class Explanation:
    """The terms of one fusion."""

    terms: tuple[Term, ...]

    @classmethod
    def from_json(cls, found: Sequence[Mapping[str, Any]]) -> Explanation:
        """Of an artifact's metadata. Raises KeyError, TypeError or ValueError if damaged."""
        terms = tuple(
            Term(
                str(t["monitor"]),
                str(t["what"]),
                tuple(float(v) for v in t["knots"]),
                tuple(float(v) for v in t["values"]),
                float(t["usual"]),
            )
            for t in found
        )
        if not terms or any(len(t.values) != len(t.knots) + 1 for t in terms):
            raise ValueError("terms")
        return cls(terms)

    def surprises(self, scores: Mapping[str, float]) -> dict[str, float]:
        """Nats of each signal, by its monitor's name, from the scores as they are shown."""
        return {t.monitor: t.surprise(scores[t.monitor]) for t in self.terms if t.monitor in scores}

    def sentence(self, scores: Mapping[str, float]) -> str:
        """The most surprising signal, and how it compares with correct rows."""
        nats = self.surprises(scores)
        term = max(self.terms, key=lambda t: nats.get(t.monitor, -1.0))
        score = scores.get(term.monitor, float("nan"))
        text = f"{term.what}: {score:.3g}, where 99 % of correct rows stay below {term.usual:.3g}"
        others = sum(nats.values()) - nats.get(term.monitor, 0.0)
        return f"{text} ({nats.get(term.monitor, 0.0):.1f} nats; the other signals {others:.1f})"
