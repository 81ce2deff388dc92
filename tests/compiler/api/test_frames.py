"""Frames as rows."""

from __future__ import annotations

import inspect

import pandas as pd
import pytest

from edgemon.compiler.api.frames import EdgemonWarning, as_rows, in_order


def test_booleans_beside_numbers_are_no_words() -> None:
    assert as_rows(pd.DataFrame({"a": [True, False], "b": [1.5, 2]})).tolist() == [[1, 1.5], [0, 2]]


@pytest.mark.parametrize(
    ("names", "says"), [("abx", "left out: x"), ("xyz", "no column has the name of a feature")]
)
def test_a_warning_of_columns_points_to_the_line_that_gave_them(names: str, says: str) -> None:
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=list(names))
    features = ("a", "b") if "a" in names else ("a", "b", "c")
    line = inspect.currentframe().f_lineno + 2  # type: ignore[union-attr]
    with pytest.warns(EdgemonWarning, match=says) as said:
        in_order(frame, features, "evaluate")
    (warning,) = said
    assert (warning.filename, warning.lineno) == (__file__, line)
