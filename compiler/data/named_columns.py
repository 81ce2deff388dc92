"""Columns by their names: where those lie that a bundle, or the rows before, have as features."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from edgemon.compiler.errors import DataError
from edgemon.compiler.reporter import Warn

SHOWN = 40  # characters of a name in a message
MOST_NAMED = 20  # columns in a message


def places(source: str, names: Sequence[str], features: Sequence[str]) -> list[int] | None:
    """Where each of the ``features`` is among the ``names``; None if not one is there. Raises
    DataError where some are missing or a name is there twice."""
    missing = [name for name in features if name not in names]
    if len(missing) == len(features):
        return None
    if missing:
        one = len(missing) == 1
        raise DataError(
            f"{source}: lacks the column{'' if one else 's'} {listed(missing)}, "
            f"{'a feature' if one else 'features'} of the rows that came before it"
        )
    twice = next((name for name in features if list(names).count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{source}: two columns are called {twice!r}; rename one")
    return [list(names).index(name) for name in features]


def say_left_out(source: str, names: Sequence[str], used: Collection[int], warn: Warn) -> None:
    """``warn`` hears of the columns that are not ``used``."""
    left_out = [name for i, name in enumerate(names) if i not in used]
    if left_out:
        shown = ", ".join(map(shortened, left_out))
        warn(f"{source}: columns that are no features of the rows before, left out: {shown}")


def listed(names: Sequence[str]) -> str:
    """The first of them, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return ", ".join(repr(shortened(name)) for name in names[:MOST_NAMED]) + more


def shortened(text: str) -> str:
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."
