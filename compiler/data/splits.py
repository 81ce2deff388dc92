"""Which rows are for what."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.groups import Groups
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Warn, unheard

Indices = npt.NDArray[np.int64]

REFUSE, DROP, KEEP = SHARING = ("refuse", "drop", "keep")  # of rows that are in two parts
FRACTIONS = (0.6, 0.2, 0.2)

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, eq=False)
class Splits(Generic[T]):
    """What there is of the rows on which monitors are fitted, of those on which thresholds are set,
    and of those on which both are tested."""

    fit: T
    threshold: T
    test: T

    def items(self) -> Iterator[tuple[str, T]]:
        """By name, in this order."""
        return iter((f.name, getattr(self, f.name)) for f in fields(self))

    def values(self) -> Iterator[T]:
        return (part for _, part in self.items())

    def map(self, change: Callable[[str, T], U]) -> Splits[U]:
        """The same of what ``change`` makes of each part, given its name."""
        return Splits(**{name: change(name, part) for name, part in self.items()})


def split(
    y: npt.NDArray[np.integer[Any]],
    seed: int,
    fractions: tuple[float, float, float] = FRACTIONS,
    groups: Groups | None = None,
) -> tuple[Indices, Indices, Indices]:
    """Disjoint, sorted row indices for fit, threshold and test that together are all rows.

    Stratified: each label is cut in these proportions, see ``cut``; whole ``groups`` (n,) stay
    together, and then it is groups that are in proportion. Raises DataError if a part would be
    empty.
    """
    fit, threshold, test = cut(y, fractions, np.random.default_rng(seed), groups)
    if not (len(fit) and len(threshold) and len(test)):
        what = f"{len(y)} rows" if groups is None else f"{len(np.unique(groups))} groups of rows"
        raise DataError(
            f"{what} are too few to split into fit, threshold and test rows; give more data"
        )
    return fit, threshold, test


def cut(
    strata: npt.NDArray[Any],
    shares: Sequence[float],
    rng: np.random.Generator,
    groups: Groups | None = None,
) -> list[Indices]:
    """Sorted row indices of one part a share, from rows of several strata (n,).

    The groups of each stratum (that of most of a group's rows) are put in random order and cut by
    their number: a group goes where a point falls that lies in it, as far into each. The point is
    drawn anew for each stratum, so that small ones do not all round the same way, and each group
    comes to each part with the chance of its share, however many rows it and others have. Cut by
    rows it would not: large groups would go to large parts, and thresholds would be set on other
    groups than are met later. What is in proportion are groups, and rows only nearly. Without
    groups each row is one. What groups are called makes no difference.
    """
    of_row, own = _grouped(strata, groups)
    inner = np.cumsum(shares)[:-1] / sum(shares)
    part = np.empty(len(own), np.int64)
    for stratum in np.unique(own):
        chosen = rng.permutation(np.flatnonzero(own == stratum))
        points = np.arange(1, len(chosen) + 1) - rng.random()
        part[chosen] = np.searchsorted(inner * len(chosen), points)
    return [np.flatnonzero(part[of_row] == i) for i in range(len(shares))]


def _grouped(strata: npt.NDArray[Any], groups: Groups | None) -> tuple[Indices, npt.NDArray[Any]]:
    """The group of each row as a number from 0, in the order in which groups occur first; and of
    each group the stratum of most of its rows (of several the first in sorted order)."""
    if groups is None:
        return np.arange(len(strata)), strata
    _, first, found = np.unique(groups, return_index=True, return_inverse=True)
    order = np.argsort(first)
    of_row = np.argsort(order)[found]
    each, at = np.unique(strata, return_inverse=True)
    pairs, rows = np.unique(of_row * len(each) + at, return_counts=True)
    group, stratum = np.divmod(pairs, max(1, len(each)))
    by_rows = np.lexsort((-stratum, rows, group))
    last = np.searchsorted(group, np.arange(len(first)), side="right") - 1
    return of_row, each[stratum[by_rows[last]]]


def divide(
    correct: npt.NDArray[np.bool_], share: float, seed: int, groups: Groups | None = None
) -> tuple[Indices, Indices]:
    """All but a share of the rows (n,), and that share, with right and wrong rows alike in both.
    Of ``groups`` (n,) whole ones, those with a wrong row and those without alike in both; see
    ``cut``, after which a part may be empty where groups are few."""
    if groups is not None:
        wrong_somewhere = np.isin(groups, groups[~correct])
        rng = np.random.default_rng(seed)
        first, second = cut(wrong_somewhere, (1 - share, share), rng, groups)
        return first, second
    from sklearn.model_selection import train_test_split  # which devices lack

    enough = min(int(correct.sum()), int((~correct).sum())) >= 2
    first, second = train_test_split(
        np.arange(len(correct)), test_size=share, random_state=seed,
        stratify=correct if enough else None,
    )  # fmt: skip
    return np.sort(first), np.sort(second)


def without_overlap(
    parts: Mapping[str, Dataset], policy: str = REFUSE, warn: Warn = unheard
) -> dict[str, Dataset]:
    """The parts, in their order, where rows of one may have the same content as rows of another:
    "refuse" them (raises DataError), "drop" them from each part but the first that has them, or
    "keep" them, as draws of a process that repeats its values (see ``data.repeats``). Raises
    DataError too if nothing is left of a part."""
    digests = {name: data.fingerprints() for name, data in parts.items()}
    counts = _shared(digests)
    if not counts:
        return dict(parts)
    said = ", ".join(f"{n} in {' and '.join(names)}" for names, n in counts.items())
    if policy == REFUSE:
        raise DataError(
            f"fit, threshold and test rows must differ, but equal rows are in two of them "
            f"({said}); remove the repeated rows, give other row ranges, leave copies out of the "
            f"later part with --shared-rows {DROP}, or, where the process that gives rows repeats "
            f"its values, keep them with --shared-rows {KEEP}"
        )
    if policy == KEEP:
        warn(
            f"equal rows are in two parts ({said}) and are kept; that is sound only where the "
            "process that gives rows repeats its values, and they are not copies"
        )
        return dict(parts)
    seen: set[bytes] = set()
    found = {}
    for name, data in parts.items():
        new = np.array([digest not in seen for digest in digests[name]], bool)
        if not new.any():
            raise DataError(f"{data.source} ({name}): all of its rows are in an earlier part too")
        if not new.all():
            warn(
                f"{data.source} ({name}): {int((~new).sum()):,} of {len(data):,} rows are in an "
                f"earlier part too ({said}) and are left out; where the process that gives rows "
                f"repeats its values, --shared-rows {KEEP} is right"
            )
        found[name] = data if new.all() else data.take(np.flatnonzero(new))
        seen.update(digests[name])
    return found


def require_sharing(policy: str) -> None:
    """Raises DataError for what is no policy of ``without_overlap``."""
    if policy not in SHARING:
        raise DataError(f"--shared-rows {policy}: use {', '.join(SHARING)}")


def _shared(digests: Mapping[str, Sequence[bytes]]) -> dict[tuple[str, ...], int]:
    """How many contents are in several parts, by which."""
    owners: defaultdict[bytes, set[str]] = defaultdict(set)
    for name, own in digests.items():
        for digest in own:
            owners[digest].add(name)
    counts: defaultdict[tuple[str, ...], int] = defaultdict(int)
    for names in owners.values():
        if len(names) > 1:
            counts[tuple(n for n in digests if n in names)] += 1
    return counts


def align_classes(parts: Mapping[str, Dataset]) -> dict[str, Dataset]:
    """The same parts with one numbering of labels. Labels that are words are numbered in each
    file by itself, so that a class that one file lacks would shift the others' numbers. Raises
    DataError if some parts have words and others numbers."""
    named = {name: data for name, data in parts.items() if data.class_names is not None}
    if not named:
        return dict(parts)
    if len(named) < len(parts):
        raise DataError(
            f"labels are words in the {' and '.join(named)} data but numbers elsewhere; "
            "use the same in all"
        )
    names = tuple(sorted({n for data in named.values() for n in data.class_names or ()}))
    aligned = {}
    for part, data in named.items():
        numbers = np.array([names.index(n) for n in data.class_names or ()], np.int64)
        y = None if data.y is None else numbers[data.y]
        aligned[part] = replace(data, y=y, class_names=names)
    return aligned
