"""Decision trees as rules that a person can read: every path from the root to a leaf."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Path = dict[int, tuple[float, float]]  # feature: above, at most

THEN = {1: "wrong", 0: "right", -1: "no vote"}


def leaf_counts(tree: Any, x: Array, wrong: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """(nodes, 2): right and wrong rows of x (n, features) in each leaf, unweighted."""
    counts = np.zeros((tree.tree_.node_count, 2), np.int64)
    if len(x):
        np.add.at(counts, (tree.apply(x), wrong.astype(int)), 1)
    return counts


def rules(
    tree: Any, thresholds: Array, votes: Array, fit: Array, validation: Array, symbol: str
) -> list[dict[str, Any]]:
    """The rules of a fitted tree, those for "wrong" first, each by falling support.

    Args:
        thresholds: (nodes,) on the values that people see, whatever the tree was fitted on.
        votes: (nodes,) of the keys of ``THEN``.
        fit, validation: ``leaf_counts`` of the rows that the tree saw, and of others.
        symbol: what ``x`` is called in ``x[3] <= 0.5``.

    ``precision`` is the share of the rule's rows for which it is true; None without such rows, and
    for a leaf that does not vote.
    """
    found = []
    for leaf, path in _paths(tree.tree_, thresholds):
        vote = int(votes[leaf])
        found.append(
            {
                "if": [_interval(symbol, f, *bounds) for f, bounds in sorted(path.items())],
                "then": THEN[vote],
                "support": int(fit[leaf].sum()),
                "precision": _precision(fit[leaf], vote),
                "validation_support": int(validation[leaf].sum()),
                "validation_precision": _precision(validation[leaf], vote),
            }
        )
    return sorted(found, key=lambda rule: (rule["then"] != THEN[1], -rule["support"]))


def sentence(rule: dict[str, Any]) -> str:
    """A rule of ``rules`` as one line."""
    return (
        f"if {' and '.join(rule['if']) or 'always'} then {rule['then']} (fit: "
        f"{_share(rule['support'], rule['precision'])}; validation: "
        f"{_share(rule['validation_support'], rule['validation_precision'])})"
    )


def _share(rows: int, precision: float | None) -> str:
    return f"{rows} rows" + ("" if precision is None else f", precision {precision:.2f}")


def _paths(tree: Any, thresholds: Array) -> Iterator[tuple[int, Path]]:
    stack: list[tuple[int, Path]] = [(0, {})]
    while stack:
        node, path = stack.pop()
        if tree.children_left[node] < 0:
            yield node, path
            continue
        feature, threshold = int(tree.feature[node]), float(thresholds[node])
        low, high = path.get(feature, (-np.inf, np.inf))
        stack.append((tree.children_left[node], {**path, feature: (low, threshold)}))
        stack.append((tree.children_right[node], {**path, feature: (threshold, high)}))


def _precision(counts: Array, vote: int) -> float | None:
    total = int(counts.sum())
    return float(counts[vote] / total) if total and vote >= 0 else None


def _interval(symbol: str, feature: int, above: float, at_most: float) -> str:
    """A condition on one feature, as short as it can be said."""
    if np.isinf(above):
        return f"{symbol}[{feature}] <= {at_most:.6g}"
    if np.isinf(at_most):
        return f"{symbol}[{feature}] > {above:.6g}"
    return f"{above:.6g} < {symbol}[{feature}] <= {at_most:.6g}"
