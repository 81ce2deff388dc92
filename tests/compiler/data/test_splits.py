from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.data.splits import (
    align_classes,
    cut,
    divide,
    require_sharing,
    split,
    without_overlap,
)
from edgemon.compiler.errors import DataError
from tests.compiler.data.files import all_rows

labels = st.lists(st.integers(0, 6), min_size=40, max_size=300).map(np.array)
# Labels and groups: a group's rows need not have one label.
grouped = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 40)), min_size=60, max_size=300).map(
    lambda rows: (np.array([y for y, _ in rows]), np.array([g for _, g in rows]))
)
seeds = st.integers(0, 2**32 - 1)


@given(labels, seeds)
def test_parts_are_disjoint_sorted_and_complete(y: np.ndarray, seed: int) -> None:
    parts = split(y, seed)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(y)))
    assert all((np.diff(part) > 0).all() for part in parts)


@given(labels, seeds)
def test_each_label_is_cut_in_proportion(y: np.ndarray, seed: int) -> None:
    for part, fraction in zip(split(y, seed), (0.6, 0.2, 0.2), strict=True):
        for label in np.unique(y):
            expected = fraction * (y == label).sum()
            assert abs((y[part] == label).sum() - expected) <= 1


@given(labels)
def test_the_seed_decides(y: np.ndarray) -> None:
    for a, b in zip(split(y, 3), split(y, 3), strict=True):
        np.testing.assert_array_equal(a, b)


def test_another_seed_is_another_split() -> None:
    y = np.zeros(100, np.int64)
    assert split(y, 0)[0].tolist() != split(y, 1)[0].tolist()


def test_classes_of_one_row_are_spread_over_the_parts() -> None:
    sizes = [len(part) for part in split(np.arange(1000), 0)]
    np.testing.assert_allclose(sizes, [600, 200, 200], atol=60)


@given(grouped, seeds)
def test_no_group_is_on_two_sides_and_every_row_is_used_once(
    rows: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    y, groups = rows
    parts = cut(y, (0.6, 0.2, 0.2), np.random.default_rng(seed), groups)
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(len(y)))
    sides = [np.unique(groups[part]) for part in parts]
    assert len(np.concatenate(sides)) == len(np.unique(groups))
    assert all((np.diff(part) > 0).all() for part in parts)


@given(grouped, seeds)
def test_shares_of_groups_are_kept_but_for_one_a_stratum(
    rows: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    y, groups = rows
    count = len(np.unique(groups))
    parts = cut(y, (0.6, 0.2, 0.2), np.random.default_rng(seed), groups)
    for part, share in zip(parts, (0.6, 0.2, 0.2), strict=True):
        assert abs(len(np.unique(groups[part])) - share * count) <= len(np.unique(y))


CUTS = 2000  # a share is then known to within 0.05, which is more than four standard errors


@pytest.mark.parametrize("by", ["split", "divide"])
def test_where_a_group_goes_does_not_depend_on_its_size_or_its_neighbours(by: str) -> None:
    """Large groups went to the fit rows, so that thresholds were set on the small ones."""
    sizes = np.array([30, 1, 1, 1, 1, 10, 1, 1, 2, 40, 1])
    label = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1])
    groups, y = np.repeat(np.arange(len(sizes)), sizes), np.repeat(label, sizes)
    shares = (0.6, 0.2, 0.2) if by == "split" else (0.5, 0.5)
    found = np.zeros((len(sizes), len(shares)))
    for seed in range(CUTS):
        if by == "split":
            parts = cut(y, shares, np.random.default_rng(seed), groups)
        else:
            parts = [*divide(y == 0, shares[1], seed, groups)]
        for i, part in enumerate(parts):
            found[np.unique(groups[part]), i] += 1 / CUTS
    np.testing.assert_allclose(found, np.tile(shares, (len(sizes), 1)), atol=0.05)


def test_rows_without_groups_are_cut_as_ever() -> None:
    """Bundles that were compiled before keep their rows."""
    parts = cut(np.arange(24) % 3, (0.6, 0.2, 0.2), np.random.default_rng(5))
    assert [part.tolist() for part in parts] == [
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 19],
        [13, 15, 16, 20, 21, 23],
        [0, 17, 18, 22],
    ]


@given(grouped, seeds)
def test_what_groups_are_called_makes_no_difference(
    rows: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    y, groups = rows
    names = np.random.default_rng(seed).permutation(1000)[groups]
    found = [cut(y, (2, 1), np.random.default_rng(seed), g) for g in (groups, groups, names)]
    for a, b, c in zip(*found, strict=True):
        np.testing.assert_array_equal(a, b)
        np.testing.assert_array_equal(a, c)


@given(labels, seeds)
def test_groups_of_one_row_are_split_as_rows_are(y: np.ndarray, seed: int) -> None:
    alone = np.random.default_rng(seed).permutation(len(y))
    for a, b in zip(split(y, seed), split(y, seed, groups=alone), strict=True):
        np.testing.assert_array_equal(a, b)


def test_groups_of_each_label_are_cut_in_proportion() -> None:
    """A group counts for the label that most of its rows have."""
    groups = np.repeat(np.arange(300), 5)
    y = groups % 3
    y[::5] = 9  # one row of each group
    for part, share in zip(split(y, 0, groups=groups), (0.6, 0.2, 0.2), strict=True):
        for label in range(3):
            assert abs((y[part] == label).sum() - share * 400) <= 4


@given(grouped, seeds)
def test_rows_are_held_out_in_whole_groups(rows: tuple[np.ndarray, np.ndarray], seed: int) -> None:
    y, groups = rows
    first, second = divide(y > 0, 0.4, seed, groups)
    assert not np.isin(groups[first], groups[second]).any()
    np.testing.assert_array_equal(np.sort(np.concatenate([first, second])), np.arange(len(y)))


def test_groups_with_wrong_rows_are_on_both_sides() -> None:
    groups = np.repeat(np.arange(400), 4)
    correct = np.ones(1600, bool)
    correct[::40] = False  # one row of every tenth group, 40 in all
    for part, share in zip(divide(correct, 0.5, 0, groups), (20, 20), strict=True):
        assert abs((~correct[part]).sum() - share) <= 1


def test_too_few_groups_are_refused() -> None:
    with pytest.raises(DataError, match="2 groups of rows are too few to split"):
        split(np.zeros(100, np.int64), 0, groups=np.repeat([4, 7], 50))


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_too_few_rows_are_refused(rows: int) -> None:
    with pytest.raises(DataError, match="too few"):
        split(np.zeros(rows, np.int64), 0)


def _data(tmp_path: Path, name: str, values: list[int]) -> Dataset:
    np.save(tmp_path / f"{name}.npy", np.array(values, np.uint8)[:, None])
    return load(str(tmp_path / f"{name}.npy"), tmp_path)


def test_equal_rows_in_two_parts_are_counted_and_refused(tmp_path: Path) -> None:
    parts = {
        "fit": _data(tmp_path, "fit", [1, 2, 3, 3]),
        "threshold": _data(tmp_path, "threshold", [4, 2, 1]),
        "test": _data(tmp_path, "test", [5, 1]),
    }
    says = "1 in fit and threshold and test, 1 in fit and threshold"
    with pytest.raises(DataError, match=says):
        without_overlap(parts)
    without_overlap({"fit": parts["fit"], "test": _data(tmp_path, "other", [6, 7])})


def test_rows_of_two_published_parts_are_left_out_of_the_later_one(tmp_path: Path) -> None:
    """One row that stood in two of the parts ended compile, and nothing could be said against."""
    parts = {
        "fit": _data(tmp_path, "fit", [1, 2, 3, 3]),
        "threshold": _data(tmp_path, "threshold", [4, 2, 1, 4]),
        "test": _data(tmp_path, "test", [5, 1, 4, 6]),
    }
    said: list[str] = []
    found = without_overlap(parts, "drop", said.append)
    assert [all_rows(d).ravel().tolist() for d in found.values()] == [[1, 2, 3, 3], [4, 4], [5, 6]]
    assert ["2 of 4 rows" in s for s in said] == [True, True]
    assert list(without_overlap(parts, "keep", said.append).values()) == list(parts.values())
    assert "are kept" in said[-1]
    parts["test"] = _data(tmp_path, "none", [1, 4])
    with pytest.raises(DataError, match="all of its rows are in an earlier part"):
        without_overlap(parts, "drop", said.append)
    with pytest.raises(DataError, match="--shared-rows drop"):
        without_overlap(parts)
    with pytest.raises(DataError, match="--shared-rows maybe: use refuse, drop, keep"):
        require_sharing("maybe")


@given(values=st.lists(st.lists(st.integers(0, 9), min_size=1), min_size=3, max_size=3))
def test_what_is_left_shares_no_row_and_loses_no_content(
    values: list[list[int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("d")
    parts = {n: _data(folder, n, v) for n, v in zip("abc", values, strict=True)}
    try:
        found = without_overlap(parts, "drop")
    except DataError:
        return
    contents = [set(all_rows(d).ravel().tolist()) for d in found.values()]
    assert sum(map(len, contents)) == len(set.union(*contents))
    assert set.union(*contents) == set(np.concatenate(values).tolist())


@pytest.mark.parametrize(
    "copy",
    [
        lambda x: x.astype(np.float32),
        lambda x: x.astype(">f8"),
        lambda x: x.astype(np.int64)[:, :, None],
        lambda x: np.where(x == 0, -0.0, x),
        lambda x: x.reshape(len(x), 2, 2),
    ],
)
def test_a_copy_in_another_dtype_or_shape_is_an_equal_row(
    tmp_path: Path, copy: Callable[[np.ndarray], np.ndarray]
) -> None:
    x = np.arange(12, dtype=np.uint8).reshape(3, 4)
    np.save(tmp_path / "a.npy", x)
    np.save(tmp_path / "b.npy", copy(x))
    parts = {name: load(str(tmp_path / f"{name}.npy"), tmp_path) for name in "ab"}
    with pytest.raises(DataError, match="3 in a and b"):
        without_overlap(parts)


def _words(folder: Path, name: str, words: list[str]) -> Dataset:
    np.savez(folder / f"{name}.npz", x=np.zeros((len(words), 2)), y=np.array(words))
    return load(str(folder / f"{name}.npz"), folder)


def test_words_are_numbered_alike_in_all_parts(tmp_path: Path) -> None:
    parts = {
        "fit": _words(tmp_path, "fit", ["dog", "cat"]),
        "test": _words(tmp_path, "test", ["dog", "emu", "dog"]),
    }
    for part, data in align_classes(parts).items():
        assert data.class_names == ("cat", "dog", "emu")
        assert data.y is not None
        assert data.y.tolist() == {"fit": [1, 0], "test": [1, 2, 1]}[part]


def test_words_and_numbers_do_not_mix(tmp_path: Path) -> None:
    numbers = _data(tmp_path, "n", [1])
    assert align_classes({"fit": numbers}) == {"fit": numbers}
    with pytest.raises(DataError, match="words in the test data but numbers elsewhere"):
        align_classes({"fit": numbers, "test": _words(tmp_path, "w", ["cat"])})
