"""Sums of step functions as one forest."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from edgemon.compiler.program.forest import Forest, Row

Floats = npt.NDArray[np.float64]


def forest_of(tables: Sequence[tuple[Floats, Floats]]) -> Forest:
    """A forest that sums step functions, one of each feature: pairs of ascending knots (k,) and
    whole values (k + 1,)."""
    rows: list[Row] = []
    roots: list[int] = []
    depths: list[int] = []
    for feature, (knots, values) in enumerate(tables):
        roots.append(len(rows))
        level, depth = [(0, len(values))], 0
        while level:
            following = len(rows) + len(level)
            below: list[tuple[int, int]] = []
            for first, end in level:
                if end - first == 1:
                    rows.append((0, np.inf, len(rows), float(values[first])))
                    continue
                middle = (first + end) // 2
                rows.append((feature, float(knots[middle - 1]), following + len(below), 0.0))
                below += [(first, middle), (middle, end)]
            level, depth = below, depth + bool(below)
        depths.append(depth)
    return Forest.from_rows(rows, roots, depths)
