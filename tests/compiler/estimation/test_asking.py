"""Lists of labels: what is written can be filled in and read; what is not one is refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.data.classes import Classes
from edgemon.compiler.errors import DataError
from edgemon.compiler.estimation import asking
from edgemon.compiler.estimation.observed import Observed

CLASSES = Classes(("cat", "dog, wet", "7"), (0, 1, 7))


def _rows(numbers: list[int]) -> Observed:
    n = len(numbers)
    predicted = np.arange(n) % 3
    return Observed(
        np.eye(3)[predicted], predicted, None, np.zeros(n), np.zeros(n, bool), np.ones(n, bool),
        np.array(numbers), None,
    )  # fmt: skip


def test_a_list_that_was_filled_in_is_read(tmp_path: Path) -> None:
    rows, at = _rows([10, 11, 12, 13]), np.array([1, 3, 0])
    text = asking.table(rows, at, CLASSES.names, asking.RANDOM)
    assert text.splitlines()[1] == '11,"dog, wet",,random'
    filled = text.replace('11,"dog, wet",,', '11,"dog, wet",cat,')
    filled = filled.replace("13,cat,,", "13,cat,7,").replace("10,cat,,", "10,cat,None,")
    path = tmp_path / "labels.csv"
    path.write_text("\ufeff" + filled, encoding="utf-8")  # as spreadsheets save it
    found, missing = asking.read(path, CLASSES)
    assert (missing, found.drawn) == (0, True)
    assert found.classes.tolist() == [0, 2, -1]
    assert asking.located(rows, found).tolist() == [1, 3, 0]


def test_empty_labels_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text("row,label,chosen\n4,cat,most-entropy\n5,,most-entropy\n")
    found, missing = asking.read(path, CLASSES)
    assert (missing, found.drawn, found.numbers.tolist()) == (1, False, [4])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,2\n", "needs the columns row, label and chosen"),
        ("", "needs the columns"),
        ("row,label,chosen\n", "must say how all rows were chosen"),
        ("row,label,chosen\n1,cat,best\n", "must say how all rows were chosen"),
        ("row,label,chosen\n1,cat,random\n2,cat,most-entropy\n", "must say how"),
        ("row,label,chosen\n1,,random\n", "no label is filled in"),
        ("row,label,chosen\n1,cow,random\n", "line 2: 'cow' is no class: write one of cat"),
        ("row,label,chosen\nx,cat,random\n", "line 2: 'x' is no row number"),
        ("row,label,chosen\n1.5,cat,random\n", "is no row number"),
        ("row,label,chosen\nnan,cat,random\n", "is no row number"),
        ("row,label,chosen\n-1,cat,random\n", "is no row number"),
        ("row,label,chosen\n1,cat,random\n1,cat,random\n", "row 1 is there twice"),
        ("row,label,chosen\n1,cat\n", "must say how"),
    ],
)
def test_what_is_no_list_of_labels_is_refused(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        asking.read(path, CLASSES)


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "labels.csv"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match="cannot be read"):
        asking.read(path, CLASSES)
    with pytest.raises(DataError, match="cannot be read"):
        asking.read(tmp_path / "none.csv", CLASSES)


def test_a_label_of_another_row_is_refused() -> None:
    found = asking.Labelled(np.array([3]), np.array([0]), True)
    with pytest.raises(DataError, match="row 3 has a label and is not among the 2 rows"):
        asking.located(_rows([1, 2]), found)


@pytest.mark.parametrize(
    ("text", "count"), [("0", 0), ("7", 7), ("1%", 2), ("0.1%", 1), ("100 %", 200), ("0%", 0)]
)
def test_counts_and_shares_of_rows(text: str, count: int) -> None:
    assert asking.count_of(text, 200) == count


@pytest.mark.parametrize("text", ["-1", "x", "nan", "201", "101%", "2.5", "1%%", "inf"])
def test_counts_that_cannot_be_are_refused(text: str) -> None:
    with pytest.raises(DataError, match="rows"):
        asking.count_of(text, 200)
