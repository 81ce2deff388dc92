"""CSV tables as rows."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.errors import DataError
from tests.compiler.data.files import all_rows


def _csv(tmp_path: Path, text: str, **options: str) -> Dataset:
    (tmp_path / "d.csv").write_text(text)
    return load(str(tmp_path / "d.csv"), tmp_path, **options)


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("a,b,label\n1,2,7\n3,4.5,8\n", {}),
        ("Label;a;b\n7;1;2\n\n8;3;4.5\n", {}),
        ("a,b,kind\n1,2,7\n3,4.5,8\n", {"label_column": "kind"}),
        ("7,1,2\n8,3,4.5\n", {"label_column": "0"}),
        ("1,2,7\n3,4.5,8", {"label_column": "-1"}),
    ],
)
def test_csv_with_and_without_a_header(tmp_path: Path, text: str, options: dict[str, str]) -> None:
    data = _csv(tmp_path, text, **options)
    assert all_rows(data).tolist() == [[1, 2], [3, 4.5]]
    assert data.dtype == np.float32
    assert data.y is not None
    assert data.y.tolist() == [7, 8]


@pytest.mark.parametrize(
    "text",
    ["1,2,cat\n3,4.5,dog\n", "a,b,kind\n1,2,cat\n3,4.5,dog\n", "1,2,y\n3,4.5,y2\n"],
)
def test_a_last_column_of_words_is_the_label(tmp_path: Path, text: str) -> None:
    data = _csv(tmp_path, text)
    assert all_rows(data).tolist() == [[1, 2], [3, 4.5]]
    assert data.y is not None
    assert data.y.tolist() == [0, 1]


def test_a_last_column_of_numbers_is_not_taken_for_the_label(tmp_path: Path) -> None:
    data = _csv(tmp_path, "a,b\n1,2\n3,4\n")
    assert all_rows(data).tolist() == [[1, 2], [3, 4]]
    assert data.y is None


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("0,1,2\n5,6,7\n", [[5, 6, 7]]),
        ("0,1,2,label\n5,6,7,cat\n", [[5, 6, 7]]),
        ("label,2019,2020\n0,1,2\n", [[1, 2]]),
        ("class,0,1,2\n1,5,6,7\n", [[5, 6, 7]]),
        ("1.5,2.5,class\n3,4,y\n", [[1.5, 2.5], [3, 4]]),
        ("0,1\n1,0\n", [[0, 1], [1, 0]]),
        ("\n0,2,1\n5,6,7\n", [[0, 2, 1], [5, 6, 7]]),
    ],
)
def test_a_header_is_neither_a_row_nor_the_other_way_round(
    tmp_path: Path, text: str, rows: list[list[float]]
) -> None:
    assert all_rows(_csv(tmp_path, text)).tolist() == rows


def test_csv_with_words_as_labels_and_a_range(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("a,class\n" + "".join(f"{i},k{i % 3}\n" for i in range(600)))
    data = load(f"{tmp_path / 'd.csv'}[300:-1]", tmp_path)
    assert data.class_names == ("k0", "k1", "k2")
    assert all_rows(data)[:, 0].tolist() == list(range(300, 599))


@pytest.mark.parametrize(
    ("text", "options", "says"),
    [
        ("", {}, "is empty"),
        ("a,b,label\n1,2\n", {}, "line 2 has 2 columns, the first one 3"),
        ("kind,a\ncat,1\n", {}, "column kind: 'cat' is not a number.*--label-column kind"),
        (
            "kind,a,town,label\ncat,1,Ulm,0\n?,2,Bonn,1\n",
            {},
            "line 2, column kind: 'cat' is not a number, and columns kind, town hold words: encode",
        ),
        ("a,b\n1,2\n1,x2\n", {}, "line 3, column b: 'x2' is not a number; if this column"),
        ("a,label\n1,0\n2,\n", {}, "the label of line 3 is empty"),
        (",a,label\n0,1,2\n", {}, "first column has no name.*index=False"),
        (f"a,b\n1,{'x' * 1000}y\n2,3\n", {"label_column": "a"}, "column b: 'x{40}...' is no"),
        (f"a,label\n1,{'x' * 1000}\n", {}, "label of line 2 has 1000 characters"),
        ("a,b\n1,2\n", {"label_column": "c"}, "no column 'c'; columns: a, b"),
        ("1,2\n", {"label_column": "2"}, "columns: 0 to 1"),
        ("label,y,a\n1,2,3\n", {}, "several columns may be the label"),
        ("label\n1\n", {}, "no column beside the label"),
        ("a,label\n", {}, "has no rows"),
        ("a,label\n,1\n", {}, "'' is a missing value"),
        ("a,b,label\n1,,0\n2,3,1\n", {}, "line 2, column b: '' is a missing value"),
        ("a,label\n1,0\nNA,1\n", {}, "line 3, column a: 'NA' is a missing value"),
        ("a;b;label\n1,5;2,5;0\n", {}, "'1,5' has a decimal comma"),
        ("1,5;2,5;0\n", {}, "'1,5' has a decimal comma"),
        ('a,label\n"1,234",0\n', {}, "separates thousands"),
        ("a,label\nTrue,0\n", {}, "'True' is a word; write 1 and 0"),
        ("a,label\n1_000,0\n", {}, "'1_000' is not a number"),
        ("a,a,label\n1,2,3\n", {"label_column": "a"}, "two columns are called 'a'"),
    ],
)
def test_csv_that_is_wrong_is_one_sentence(
    tmp_path: Path, text: str, options: dict[str, str], says: str
) -> None:
    with pytest.raises(DataError, match=says):
        _csv(tmp_path, text, **options)


def test_csv_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_bytes(b"a,label\n\xff\xfe\x00,1\n")
    with pytest.raises(DataError, match="UTF-8"):
        load(str(tmp_path / "d.csv"), tmp_path)


@pytest.mark.parametrize("at", ["label", "value"])
def test_one_long_csv_cell_does_not_cost_gigabytes(tmp_path: Path, at: str) -> None:
    lines = [f"{i % 10}.5,{i % 3}" for i in range(5000)]
    lines[2500] = f"1,{'1' * 130_000}" if at == "label" else f"{'1' * 130_000},1"
    (tmp_path / "d.csv").write_text("a,label\n" + "\n".join(lines))
    tracemalloc.start()
    if at == "label":
        with pytest.raises(DataError, match="line 2502 has 130000 characters"):
            load(str(tmp_path / "d.csv"), tmp_path)
    else:
        assert len(load(str(tmp_path / "d.csv"), tmp_path)) == 5000
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20 << 20


def said_of(text: str, tmp_path: Path, **options: Any) -> tuple[Dataset, list[str]]:
    (tmp_path / "d.csv").write_text(text)
    said: list[str] = []
    return load(str(tmp_path / "d.csv"), tmp_path, warn=said.append, **options), said


def test_a_feature_called_y_is_no_label_where_the_features_are_known(tmp_path: Path) -> None:
    features = ("x", "y", "z")
    found, said = said_of("x,y,z\n12,13,64\n", tmp_path, features=features)
    assert (all_rows(found).tolist(), found.y, said) == ([[12, 13, 64]], None, [])
    found, _ = said_of("z,label,y,x\n64,1,13,12\n", tmp_path, features=features)
    assert (all_rows(found).tolist(), found.y is None) == ([[12, 13, 64]], False)
    found, said = said_of("x,y,z\n12,13,64\n", tmp_path, label_column="none")
    assert (all_rows(found).tolist(), found.y, found.features) == ([[12, 13, 64]], None, features)
    assert not said


def test_columns_are_found_by_the_names_of_the_features(tmp_path: Path) -> None:
    found, said = said_of("id,b,a\n7,2,1\n", tmp_path, features=("a", "b"))
    assert all_rows(found).tolist() == [[1, 2]]
    assert "left out: id" in said[0]
    with pytest.raises(DataError, match="lacks the column 'b', a feature"):
        said_of("a,c\n1,2\n", tmp_path, features=("a", "b"))
    with pytest.raises(DataError, match="lacks the columns 'b', 'd', features of the rows"):
        said_of("a,c\n1,2\n", tmp_path, features=("a", "b", "c", "d"))
    for text, why in (("p,q\n1,2\n", "none of its columns"), ("1,2\n3,4\n", "no header")):
        found, said = said_of(text, tmp_path, features=("a", "b"))
        assert all_rows(found)[0].tolist() == [1, 2]
        assert why in said[0]


@pytest.mark.parametrize(
    ("text", "column"),
    [("x,y\n1,0\n", "y"), ("x,class\n1,0\n", "class"), ("1,cat\n2,dog\n", "1"),
     ("x,label\n1,0\n", None)],
)  # fmt: skip
def test_a_label_that_was_guessed_is_said(text: str, column: str | None, tmp_path: Path) -> None:
    found, said = said_of(text, tmp_path)
    assert found.y is not None
    assert [f"column {column!r} is taken for the label" in s for s in said] == [True] * bool(column)


def test_a_first_line_that_counts_is_said_to_be_names(tmp_path: Path) -> None:
    found, said = said_of("0,1,2\n3,1,2\n", tmp_path)
    assert len(found) == 1
    assert "taken for names of columns" in said[0]


def test_a_semicolon_or_a_tab_divides_where_there_is_one(tmp_path: Path) -> None:
    for text in ("a;b;label\n1;2;0\n", "a\tb\tlabel\n1\t2\t0\n", '"a;1",b,label\n1,2,0\n'):
        assert all_rows(said_of(text, tmp_path)[0]).tolist() == [[1, 2]]
