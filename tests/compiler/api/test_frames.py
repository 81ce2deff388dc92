"""Frames as rows."""

from __future__ import annotations

import pandas as pd

from edgemon.compiler.api.frames import as_rows


def test_booleans_beside_numbers_are_no_words() -> None:
    assert as_rows(pd.DataFrame({"a": [True, False], "b": [1.5, 2]})).tolist() == [[1, 1.5], [0, 2]]
