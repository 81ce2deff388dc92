"""The tables of an op: their types, and what type rules ask of their content."""

from __future__ import annotations

import numpy as np

from edgemon.compiler.program.grids import Array

# Types that follow the input x; all others are names of dtypes.
LIKE_X, SHORT_X, WIDE_X = "as x", "int16, or as a float x", "int32, or as a float x"


def type_of(kind: str, x: str) -> str:
    """The dtype of a table of this kind for an input x of that dtype."""
    of_integers = {LIKE_X: x, SHORT_X: "int16", WIDE_X: "int32"}
    if kind in of_integers and x.startswith("float"):
        return x
    return of_integers.get(kind, kind)


def width(n: int) -> int:
    """Smallest w with n <= 2**w."""
    return (n - 1).bit_length() if n > 1 else 0


def bits_of(table: Array) -> int:
    """Width of the largest magnitude in a table of integers."""
    return width(int(np.abs(table.astype(np.int64)).max(initial=0)))


def finite(table: Array) -> bool:
    return bool(np.isfinite(table).all())


def positive(table: Array) -> bool:
    return finite(table) and bool((table > 0).all())
