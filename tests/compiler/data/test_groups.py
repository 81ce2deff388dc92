"""Groups of rows: what names them, and one row of each."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.data.groups import Column, columns_of, one_of_each
from edgemon.compiler.data.loading import load
from edgemon.compiler.errors import DataError

TRACK = np.array([[7, 0], [7, 1], [8, 0], [7, 0], [8, 1], [9, 0]])
LABELS = np.array([0, 0, 0, 1, 0, 1])
BY_TRACK = [0, 0, 1, 0, 1, 2]
BY_LABEL_AND_TRACK = [0, 0, 1, 2, 1, 3]

codes = st.lists(st.integers(0, 9), min_size=1, max_size=200).map(np.array)


def _save(folder: Path, **arrays: np.ndarray) -> str:
    x = np.arange(12, dtype=np.float32).reshape(6, 2)
    np.savez(folder / "d.npz", **{"x": x, "y": LABELS, "track": TRACK, **arrays})
    return str(folder / "d.npz")


def _table(folder: Path, text: str) -> str:
    (folder / "d.csv").write_text(text)
    return str(folder / "d.csv")


def _partition(groups: np.ndarray | None) -> list[int]:
    """Groups as numbers in the order in which they occur first."""
    assert groups is not None
    order = list(dict.fromkeys(groups.tolist()))
    return [order.index(g) for g in groups.tolist()]


@pytest.mark.parametrize(
    ("group", "expected"),
    [
        ("track[0]", BY_TRACK),
        ("y+track[0]", BY_LABEL_AND_TRACK),
        ("track[0] + y", BY_LABEL_AND_TRACK),
        ("track[0]+track[1]", [0, 1, 2, 0, 3, 4]),
        ("who", [0, 1, 0, 1, 0, 2]),
        ("bytes", [0, 1, 0, 1, 0, 2]),
        ("column", [0, 1, 1, 1, 1, 1]),
        ("yes", [0, 1, 1, 1, 1, 1]),
        ("a+b[1]", [0, 0, 0, 1, 1, 1]),
    ],
)
def test_arrays_of_an_npz_name_groups(tmp_path: Path, group: str, expected: list[int]) -> None:
    who = np.array(["ann", "bo", " ann", "bo", "ann", "cy"])
    path = _save(
        tmp_path, who=who, bytes=who.astype("S"), column=np.array([[5]] + [[6]] * 5),
        yes=np.array([False] + [True] * 5), **{"a+b[1]": np.array([1, 1, 1, 2, 2, 2])},
    )  # fmt: skip
    data = load(path, tmp_path, group=group)
    assert _partition(data.groups) == expected
    assert load(path, tmp_path).groups is None


def test_columns_of_a_csv_name_groups_and_are_no_features(tmp_path: Path) -> None:
    text = "patient,a,label,visit,b\n" + "".join(
        f"p{t},{i},{y},{v},{i}.5\n" for i, ((t, v), y) in enumerate(zip(TRACK, LABELS, strict=True))
    )
    path = _table(tmp_path, text)
    data = load(path, tmp_path, group="label+patient")
    assert _partition(data.groups) == BY_LABEL_AND_TRACK
    assert data.shape == (6, 3)
    np.testing.assert_array_equal(next(data.blocks(9))[1], [1, 1, 1.5])
    for group in ("patient", "0", "-5"):
        assert _partition(load(path, tmp_path, group=group).groups) == BY_TRACK
    # The numbers of columns in messages are those of the file, not of the features.
    bad = _table(tmp_path, "patient,a,label,b\np,1,0,x\n")
    with pytest.raises(DataError, match="line 2, column b: 'x' is not a number"):
        load(bad, tmp_path, group="patient")


def test_a_last_column_of_words_that_names_groups_is_no_label(tmp_path: Path) -> None:
    path = _table(tmp_path, "1,2,ann\n3,4,bo\n5,6,ann\n")
    data = load(path, tmp_path, group="2")
    assert data.y is None
    assert _partition(data.groups) == [0, 1, 0]
    assert data.shape == (3, 2)


def test_a_group_is_the_same_number_in_every_file(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    npz = load(_save(tmp_path), tmp_path, group="y+track[0]")
    rows = "".join(f"1,{y},{t}\n" for (t, _), y in zip(TRACK, LABELS, strict=True))
    table = load(_table(tmp_path, "a,y,track\n" + rows), tmp_path, group="y+track")
    np.testing.assert_array_equal(npz.groups, table.groups)
    part = load(_save(tmp_path / "other") + "[2:5]", tmp_path, group="y+track[0]")
    np.testing.assert_array_equal(part.groups, npz.groups[2:5])
    np.testing.assert_array_equal(npz.take([4, 1]).groups, npz.groups[[4, 1]])


@pytest.mark.parametrize(
    ("group", "says"),
    [
        ("tracks", r"--group 'tracks' names nothing here; there are x, y, track"),
        ("y+trak[0]", r"--group 'trak\[0\]' names nothing here; there are x, y, track"),
        ("track", r"--group track has 2 numbers a row; choose one, track\[0\]"),
        ("track[2]", "--group track has the columns 0 to 1, not 2"),
        ("y[1]", "--group y has the columns 0 to 0, not 1"),
        ("x[0]", "--group x is float32; groups are whole numbers or words"),
        ("few", "6 images but 3 rows of few, which --group names; they must be as many"),
        ("gap", "the group of row 3 is empty; give every row one"),
        ("", "--group '' names nothing here"),
    ],
)
def test_what_names_no_groups_is_refused_in_a_sentence(
    tmp_path: Path, group: str, says: str
) -> None:
    gap = np.array(["a", "b", "c", " ", "e", ""])
    path = _save(tmp_path, few=np.arange(3), gap=gap)
    with pytest.raises(DataError, match=says):
        load(path + "[1:]", tmp_path, group=group)


def test_a_csv_without_such_a_column_or_with_an_empty_cell_is_refused(tmp_path: Path) -> None:
    path = _table(tmp_path, "a,b,label\n1,2,0\n3,,1\n")
    with pytest.raises(DataError, match="there is no column 'patient'; columns: a, b, label"):
        load(path, tmp_path, group="patient")
    with pytest.raises(DataError, match="the group of line 3 is empty"):
        load(path, tmp_path, group="b")
    with pytest.raises(DataError, match="no column beside the label and the group"):
        load(path, tmp_path, group="a+b")


def test_folders_and_npy_files_have_no_groups(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros((3, 2)))
    for named in (tmp_path, tmp_path / "x.npy"):
        with pytest.raises(DataError, match=r"--group names an array of an \.npz or a column of"):
            load(str(named), tmp_path, group="track")


def test_a_name_with_a_plus_or_an_index_is_itself() -> None:
    assert columns_of("a+b", ["a+b", "a", "b"], "") == (Column("a+b"),)
    assert columns_of("a[0]", ["a[0]", "a"], "") == (Column("a[0]"),)
    assert columns_of("a+b[3]", ["a", "b"], "") == (Column("a"), Column("b", 3))


@given(codes, st.integers(0, 2**32 - 1))
def test_one_row_of_each_group(groups: np.ndarray, seed: int) -> None:
    rows = one_of_each(groups, seed)
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(np.sort(groups[rows]), np.unique(groups))
    np.testing.assert_array_equal(rows, one_of_each(groups, seed))


@given(codes, st.integers(0, 2**32 - 1), st.data())
def test_a_part_that_holds_the_drawn_rows_draws_them_again(
    groups: np.ndarray, seed: int, data: st.DataObject
) -> None:
    rows = one_of_each(groups, seed)
    others = data.draw(st.sets(st.integers(0, len(groups) - 1)))
    part = np.array(sorted({*rows.tolist(), *others}))
    np.testing.assert_array_equal(part[one_of_each(groups[part], seed, part)], rows)


def test_every_row_of_a_group_is_drawn_as_often() -> None:
    groups = np.repeat(np.arange(50), 4)
    drawn = np.concatenate([one_of_each(groups, seed) % 4 for seed in range(200)])
    np.testing.assert_allclose(np.bincount(drawn) / len(drawn), 0.25, atol=0.02)


def test_no_rows_have_no_groups() -> None:
    assert one_of_each(np.empty(0, np.int64), 0).shape == (0,)
