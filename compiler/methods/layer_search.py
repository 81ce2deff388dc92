"""Which subset of layers is best: all of them are tried, or greedily if there are too many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, combinations, islice
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Subset = tuple[int, ...]
# (subsets, layers) of bool -> (subsets,) of quality
Objective = Callable[[npt.NDArray[np.bool_]], Array]

EXHAUSTIVE_UP_TO = 16
BLOCK = 1024


def best_subset(layers: int, objective: Objective, exhaustive_up_to: int) -> Subset:
    """The non-empty subset of layers 0 ... with the best objective. Exhaustively, subsets go by
    size and then lexicographically, and a later one wins ties; greedily, layers are added one by
    one while that does not hurt, then removed while that helps."""
    if layers <= exhaustive_up_to:
        return _exhaustive(layers, objective)
    return _greedy(layers, objective)


def _exhaustive(layers: int, objective: Objective) -> Subset:
    subsets = chain.from_iterable(combinations(range(layers), k) for k in range(1, layers + 1))
    best: Subset = ()
    quality = -np.inf
    for block in _blocks(subsets):
        found = objective(_members(block, layers))
        highest = found.max()
        if highest >= quality:
            quality = highest
            best = block[int(np.flatnonzero(found == highest)[-1])]
    return best


def _greedy(layers: int, objective: Objective) -> Subset:
    chosen: Subset = ()
    quality = -np.inf
    while len(chosen) < layers:
        larger = [tuple(sorted((*chosen, i))) for i in range(layers) if i not in chosen]
        found = objective(_members(larger, layers))
        if found.max() < quality:
            break
        quality, chosen = found.max(), larger[int(found.argmax())]
    while len(chosen) > 1:
        smaller = [tuple(i for i in chosen if i != gone) for gone in chosen]
        found = objective(_members(smaller, layers))
        if found.max() <= quality:
            break
        quality, chosen = found.max(), smaller[int(found.argmax())]
    return chosen


def _blocks(subsets: Iterator[Subset]) -> Iterator[list[Subset]]:
    while block := list(islice(subsets, BLOCK)):
        yield block


def _members(subsets: list[Subset], layers: int) -> npt.NDArray[np.bool_]:
    members = np.zeros((len(subsets), layers), bool)
    for row, subset in zip(members, subsets, strict=True):
        row[list(subset)] = True
    return members
