"""Signals of errors, and what they cost, that somebody made up."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from edgemon.compiler.cost.bill import Bill, Cost


def evidence(rng: np.random.Generator, n: int = 2000) -> tuple[np.ndarray, np.ndarray]:
    """Surprises (n, 4) of a good signal, a weak one, noise, and one that points the wrong way, and
    which rows are wrong."""
    wrong = rng.random(n) < 0.2
    good = rng.exponential(1, n) + 2 * wrong
    weak = rng.exponential(1, n) + 0.7 * wrong
    return np.column_stack([good, weak, rng.exponential(1, n), -good + 10]), wrong


class Prices(Bill):
    """Bytes and nanoseconds that somebody made up; nothing is shared."""

    def __init__(self, sizes: Sequence[int], ns: Sequence[float] | None = None) -> None:
        self.sizes, self.ns, self.times = sizes, ns, None

    def together(self, monitors: Iterable[int] | None = None) -> Cost:
        chosen = list(range(len(self.sizes)) if monitors is None else monitors)
        return Cost(
            sum(self.sizes[i] for i in chosen),
            None if self.ns is None else sum(self.ns[i] for i in chosen),
        )
