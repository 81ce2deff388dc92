"""Which label is which class: nothing shifts because a class has no rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.data.classes import (
    Classes,
    label_map,
    parse_names,
    resolve,
    to_classes,
)
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.errors import DataError
from tests.compiler.data.files import image_folder

NAMES = ("apple", "bean", "corn", "date")


def labelled(labels: list[str] | list[int], tmp_path: Path) -> Dataset:
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npz"
    np.savez(path, x=np.arange(len(labels), dtype=np.float32)[:, None], y=np.array(labels))
    return load(str(path), tmp_path)


def resolved(
    data: Dataset, n_classes: int, **options: object
) -> tuple[Classes, list[int], list[str]]:
    """The classes, the model class of each row, and the warnings."""
    said: list[str] = []
    classes, parts = resolve({"data": data}, n_classes, warn=said.append, **options)  # type: ignore[arg-type]
    y = parts["data"].y
    assert y is not None
    return classes, to_classes(y, classes.map).tolist(), said


def test_a_class_without_a_folder_is_an_error_and_shifts_no_label(tmp_path: Path) -> None:
    data = labelled(["apple", "bean", "date"], tmp_path)
    with pytest.raises(DataError, match=r"3 words .apple, bean, date., but the model has 4.*--cl"):
        resolved(data, 4)


@given(present=st.sets(st.sampled_from(NAMES), min_size=1))
def test_names_that_are_given_make_the_order_whatever_the_data_has(
    present: set[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    order = ("date", "apple", "corn", "bean")
    words = sorted(present)
    data = labelled(words, tmp_path_factory.mktemp("d"))
    classes, found, said = resolved(data, 4, given=order)
    assert [order[j] for j in found] == words
    assert classes.names == order
    absent = set(order) - present
    assert all(name in " ".join(said) for name in absent)
    assert bool(said) == bool(absent)


def test_a_word_that_no_class_is_called_is_an_error(tmp_path: Path) -> None:
    data = labelled(["apple", "zebra"], tmp_path)
    with pytest.raises(DataError, match=r"label 'zebra' .row 1. has no class: --classes has 4"):
        resolved(data, 4, given=NAMES)
    with pytest.raises(DataError, match=r"2 words .* but the model has 1"):
        resolved(data, 1)


@pytest.mark.parametrize("wrong", [NAMES[:3], (*NAMES, "elder")])
def test_names_are_as_many_as_classes(wrong: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"names . classes .*but the model has 4"):
        resolved(labelled(["apple"], tmp_path), 4, given=wrong)


def test_numbers_are_positions_among_names(tmp_path: Path) -> None:
    classes, found, _ = resolved(labelled([3, 0, 2], tmp_path), 4, given=NAMES)
    assert (classes.names, found) == (NAMES, [3, 0, 2])
    with pytest.raises(DataError, match=r"label 4 .row 1. has no class"):
        resolved(labelled([0, 4], tmp_path), 4, given=NAMES)


@pytest.mark.parametrize(
    ("order", "expected"),
    [("numeric", list(range(10))), ("string", [0, *range(2, 10), 1])],
)
@pytest.mark.parametrize("as_text", [True, False])
def test_labels_from_1_to_10_are_ten_classes(
    order: str, expected: list[int], as_text: bool, tmp_path: Path
) -> None:
    numbers = list(range(1, 11))
    data = labelled([str(v) for v in numbers] if as_text else numbers, tmp_path)
    classes, found, said = resolved(data, 10, order=order)
    assert found == expected
    assert [int(name) for name in classes.names] == list(classes.values)
    assert "count from 1 to 10" in said[0]


def test_numbers_that_only_nearly_count_from_1_are_an_error_that_names_the_option(
    tmp_path: Path,
) -> None:
    data = labelled([1, 2, 4], tmp_path)
    with pytest.raises(DataError, match=r"label 4 .row 2. has no class.*--classes 1,2,...,4"):
        resolved(data, 4)
    classes, found, said = resolved(data, 4, given=("1", "2", "3", "4"))
    assert (found, classes.values) == ([0, 1, 3], (1, 2, 3, 4))
    assert "1 class has no row in the data: 3" in said[0]
    with pytest.raises(DataError, match=r"label 7 .row 1. has no class"):
        resolved(labelled([0, 7, 2, 1], tmp_path), 4)


def test_a_class_that_numbers_skip_is_named(tmp_path: Path) -> None:
    _, found, said = resolved(labelled([0, 1, 3], tmp_path), 4)
    assert found == [0, 1, 3]
    assert said == ["1 class has no row in the data: 2; nothing is learned or measured about that"]


def test_a_class_that_one_of_several_files_lacks_is_named(tmp_path: Path) -> None:
    parts = {"fit": labelled([0, 1], tmp_path), "test": labelled([0, 1, 2], tmp_path)}
    said: list[str] = []
    resolve(parts, 4, warn=said.append)
    assert ["no row in the data: 3" in said[0], "the fit rows" in said[1]] == [True, True]
    assert said[1].endswith("have none of the class 2")
    assert len(said) == 2


def test_words_are_sorted_as_text_in_every_order(tmp_path: Path) -> None:
    """With --label-order string the numbers of words were sorted as text, so that names moved."""
    words = [f"class{i:02d}" for i in range(12)]
    for order in ("numeric", "string"):
        assert resolved(labelled(words, tmp_path), 12, order=order)[1] == list(range(12))


def test_two_orders_are_one_too_many(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"leave out --label-order"):
        resolved(labelled(["apple"], tmp_path), 4, order="string", given=NAMES)


def test_an_empty_class_folder_is_a_class(tmp_path: Path) -> None:
    image = np.zeros((2, 2), np.uint8)
    spec = image_folder(tmp_path / "d", {"apple": [image], "bean": [image], "date": [image]})
    (tmp_path / "d" / "corn").mkdir()
    _, found, said = resolved(load(spec, tmp_path), 4)
    assert found == [0, 1, 3]
    assert "no row in the data: corn" in said[0]
    _, found, said = resolved(load(spec, tmp_path), 3)
    assert found == [0, 1, 2]
    assert said == [
        "corn: holds no image, and the model has 3 classes without it: taken for no class"
    ]


def test_an_empty_folder_beside_numbers_does_not_make_them_words(tmp_path: Path) -> None:
    image = np.zeros((2, 2), np.uint8)
    folders = {str(i): [image] for i in range(11)}
    spec = image_folder(tmp_path / "d", folders)
    (tmp_path / "d" / "extras").mkdir()
    assert resolved(load(spec, tmp_path), 11)[1] == [0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    "labels", [["date", "bean"], ["bean"], ["date", "elder", "apple"], ["date", "apple", "bean"]]
)
def test_a_bundle_knows_its_classes_in_data_that_lacks_some(
    labels: list[str], tmp_path: Path
) -> None:
    """Rows of guarantee and shift were numbered by the words that their own file had."""
    classes = Classes(NAMES, (0, 1, 2, 3))
    data = labelled(labels, tmp_path)
    expected = [NAMES.index(w) if w in NAMES else -1 for w in labels]
    assert classes.positions(data).tolist() == expected
    if -1 in expected:
        with pytest.raises(DataError, match=r"'elder' .row 1. has no class: b.emon has 4"):
            classes.numbered(data, "b.emon")
    else:
        y = classes.numbered(data).y
        assert y is not None
        assert y.tolist() == expected


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("c.txt", "date\napple\ncorn\n\n"),
        ("c.json", '["date", "apple", "corn"]'),
        ("c.json", '{"0": "date", "2": "corn", "1": "apple"}'),
        ("c.json", '{"apple": 1, "corn": 2, "date": 0}'),
        ("", "date, apple ,corn"),
    ],
)
def test_names_from_a_list_or_a_file(file: str, content: str, tmp_path: Path) -> None:
    if file:
        (tmp_path / file).write_text(content)
    said = str(tmp_path / file) if file else content
    assert parse_names(said) == ("date", "apple", "corn")
    assert parse_names("") is None


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("", "a,,b", "class 1 is empty"),
        ("", "a,b,a", "'a' is there twice"),
        ("", "1,2,1.0", "'1' is there twice"),
        ("c.txt", "a\n\nb\n", "class 1 is empty"),
        ("c.json", "[1.5]", "is no list of names"),
        ("c.json", '{"a": 1}', "is no list of names"),
        ("c.json", "[" * 100_000, "cannot be read"),
        ("c.json", "{", "cannot be read"),
        ("none.txt", None, "cannot be read .No such file"),
    ],
)
def test_names_that_cannot_be_meant_are_one_sentence(
    file: str, content: str | None, says: str, tmp_path: Path
) -> None:
    if file and content is not None:
        (tmp_path / file).write_text(content)
    with pytest.raises(DataError, match=says):
        parse_names(str(tmp_path / file) if file else content)


def test_string_order_sorts_classes_as_text() -> None:
    assert label_map(12, "string").tolist() == [0, 1, 10, 11, 2, 3, 4, 5, 6, 7, 8, 9]
    assert label_map(4, "numeric").tolist() == [0, 1, 2, 3]
    with pytest.raises(DataError, match=r"numeric or string"):
        label_map(4, "random")


@given(st.integers(1, 120), st.sampled_from(["numeric", "string"]), st.data())
def test_a_map_and_its_inverse(n: int, order: str, data: st.DataObject) -> None:
    mapping = label_map(n, order)
    assert sorted(mapping.tolist()) == list(range(n))
    y = np.array(data.draw(st.lists(st.integers(0, n - 1))), np.int64)
    np.testing.assert_array_equal(mapping[to_classes(y, mapping)], y)


def test_a_label_without_a_class_is_refused() -> None:
    with pytest.raises(DataError, match=r"label 3 .row 1. has no class.*3 classes, 0 to 2$"):
        to_classes(np.array([0, 3]), label_map(3, "numeric"))
