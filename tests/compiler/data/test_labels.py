from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.data.labels import LabelReader
from edgemon.compiler.errors import DataError


def to_labels(found: np.ndarray, source: str) -> tuple[np.ndarray, tuple[str, ...] | None]:
    reader = LabelReader(source)
    for piece in np.array_split(found, 3) if len(found) > 3 else [found]:
        reader.add(piece)
    return reader.finish()


@given(st.lists(st.integers(0, 120), min_size=1), st.sampled_from(["u1", "i8", "f4", "U", "S"]))
def test_whole_numbers_of_any_kind(values: list[int], dtype: str) -> None:
    labels, names = to_labels(np.array(values).astype(dtype), "y")
    assert labels.dtype == np.int64
    assert labels.tolist() == values
    assert names is None


@given(st.lists(st.sampled_from(["cat", "dog", "10", "élan"]), min_size=1))
def test_words_are_numbered_in_sorted_order(words: list[str]) -> None:
    if words != ["10"] * len(words):
        labels, names = to_labels(np.array(words), "y")
        assert names == tuple(sorted(set(words)))
        assert [names[i] for i in labels] == words


@pytest.mark.parametrize("values", [[[1], [0], [2]], [[0, 1, 0], [1, 0, 0], [0, 0, 1]]])
def test_columns_and_one_hot_rows(values: Any) -> None:
    assert to_labels(np.array(values), "y")[0].tolist() == [1, 0, 2]


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([0.0, 1.5], "label 1.5 .row 1. is not a whole number"),
        ([0.0, np.nan], "not a whole number"),
        ([0, -1], "label -1 .row 1. is out of range"),
        ([[0.2, 0.8], [0.5, 0.5]], "not one-hot"),
        (np.zeros((2, 2, 2)), "shape"),
        ([1j], "whole numbers or words"),
    ],
)
def test_other_labels_are_refused(values: Any, says: str) -> None:
    with pytest.raises(DataError, match=says):
        to_labels(np.array(values), "y")


@pytest.mark.parametrize("form", ["{}.0", "{}", " {} ", "{}e0", "+{}"])
def test_whole_numbers_as_text_are_not_sorted_as_words(form: str) -> None:
    labels, names = to_labels(np.array([form.format(n) for n in (0, 2, 10, 1)]), "y")
    assert (labels.tolist(), names) == ([0, 2, 10, 1], None)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["0", "1", ""], "the label of row 2 is empty"),
        (["cat", " "], "the label of row 1 is empty"),
        (["0", "-1"], "label -1 .row 1. is out of range; count from 0"),
        (["1", "9" * 30], "label 1e.30 .row 1. is out of range"),
        (["1", "9" * 257], "row 1 has 257 characters"),
        (["0.0", "nan"], "label nan .row 1. is not a whole number"),
        (["0.0", "1.5"], "label 1.5 .row 1. is not a whole number"),
    ],
)
def test_text_that_is_no_label_is_one_sentence(words: list[str], says: str) -> None:
    for found in (np.array(words), np.array(words).astype("S")):
        with pytest.raises(DataError, match=says):
            to_labels(found, "y")


def test_rows_are_counted_from_the_start_of_the_file() -> None:
    reader = LabelReader("y", first_row=5000)
    reader.add(np.array([1, 2]))
    with pytest.raises(DataError, match="row 5003"):
        reader.add(np.array([0, -1]))
