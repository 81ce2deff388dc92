"""Of many alternatives one is named only if it is clearly better, and never one of no effect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.data.classes import Classes, parse_names, resolve
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.errors import DataError
from edgemon.compiler.recording.accuracy import Question, about_input
from edgemon.compiler.recording.alternatives import Order, Way, orders, ways
from edgemon.runtime.preprocess import InputSpec, Preprocess

GRAY = InputSpec("x", (8, 8, 1), "float32")
COLOUR = InputSpec("x", (3, 8, 8), "float32", layout="nchw")
PIXELS = np.arange(5 * 64, dtype=np.uint8).reshape(5, 8, 8, 1)
TEN = np.arange(10)
NOW, OTHER = Way(Preprocess()), Way(Preprocess(scale=2.0), "--preprocess scale=2")


def numbers(rows: int, tmp_path: Path, seed: int) -> Dataset:
    """Rows that know their label, so that a made-up model can answer by them."""
    y = np.random.default_rng(seed).integers(0, 10, rows)
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.npz"
    np.savez(path, x=y[:, None].astype(np.float32), y=y)
    return load(str(path), tmp_path)


def question(accuracies: dict[Way, float], *, same: bool = False, seed: int = 0) -> Question:
    """A model that is right with these chances; ``same``: on the same rows in every way."""

    def answers(data: Dataset, chosen: Sequence[Way]) -> np.ndarray:
        assert data.y is not None
        rng = np.random.default_rng([seed, len(data)])
        shared = rng.random(len(data))
        found = []
        for way in chosen:
            right = (shared if same else rng.random(len(data))) < accuracies[way]
            found.append(np.where(right, data.y, (data.y + 1) % 10))
        return np.array(found)

    now, *others = accuracies
    return Question(answers, others, [], (now, Order(TEN)))


def better(asked: Question, tmp_path: Path) -> str | None:
    tried = asked.trials(numbers(500, tmp_path, 1))
    found = asked.better(tried, [numbers(1000, tmp_path, s) for s in (2, 3)])
    return None if found is None else found.flags


def test_a_better_preprocessing_is_named_though_the_accuracy_is_good(tmp_path: Path) -> None:
    assert better(question({NOW: 0.95, OTHER: 0.975}, same=True), tmp_path) == OTHER.flag


def test_a_change_without_effect_or_for_the_worse_is_not_named(tmp_path: Path) -> None:
    assert better(question({NOW: 0.95, OTHER: 0.95}, same=True), tmp_path) is None
    assert better(question({NOW: 0.95, OTHER: 0.93}, same=True), tmp_path) is None


def test_chance_does_not_make_one_of_many_look_better(tmp_path: Path) -> None:
    """Alternatives that are as good as what is in force, each on other rows."""
    alike = {NOW: 0.9} | {Way(Preprocess(scale=v), f"scale={v}"): 0.9 for v in range(2, 12)}
    sample, others = numbers(500, tmp_path, 1), [numbers(1000, tmp_path, 2)]
    asked = [question(alike, seed=s) for s in range(100)]
    named = sum(q.better(q.trials(sample), others) is not None for q in asked)
    assert named <= 1  # of 100 where at most 0.001 of each was promised


def test_the_best_of_two_that_are_better_is_named(tmp_path: Path) -> None:
    best = Way(Preprocess(scale=3.0), "--preprocess scale=3")
    assert better(question({NOW: 0.8, OTHER: 0.9, best: 0.97}, same=True), tmp_path) == best.flag


def test_a_bad_accuracy_is_refused_with_the_flag_that_mends_it(tmp_path: Path) -> None:
    sample = numbers(500, tmp_path, 1)
    asked = question({NOW: 0.1, OTHER: 0.9}, same=True)
    (now,) = asked.answers(sample, [NOW])
    assert sample.y is not None
    with pytest.raises(DataError, match=r"chance level: with --preprocess scale=2 it would be"):
        asked.require_above_chance(sample, now == sample.y, sample.y)
    with pytest.raises(DataError, match=r"below the 95.00% expected: likely causes"):
        question({NOW: 0.8, OTHER: 0.9}).require_expected(sample, 0.8, 500, 0.95)


@pytest.mark.parametrize("spec", [GRAY, COLOUR])
@pytest.mark.parametrize(
    "now", ["", "scale=1/255", "channels=bgr", "resize=8x8,scale=1/127.5,offset=-1", "scale=7"]
)
@pytest.mark.parametrize("rows", [PIXELS, PIXELS / 255, PIXELS / 127.5 - 1])
def test_flags_choose_the_preprocessing_that_they_name(
    spec: InputSpec, now: str, rows: np.ndarray
) -> None:
    """And what is in force, or named already, is no alternative."""
    used = Preprocess.parse(now)
    found = ways(used, spec, rows)
    assert found
    assert len({way.preprocess for way in found} | {used}) == len(found) + 1
    for way in found:
        flag = way.flag
        text = "" if flag == "no --preprocess" else flag.removeprefix("--preprocess ")
        assert Preprocess.parse(text) == way.preprocess
    assert any(way.preprocess.channels != used.channels for way in found) == (spec is COLOUR)


def test_features_may_want_to_be_standardised() -> None:
    rows = np.random.default_rng(0).normal((5, -3), (10, 0.1), (50, 2))
    (way,) = ways(Preprocess(), InputSpec("x", (2,), "float32"), rows)
    assert Preprocess.parse(way.flag.removeprefix("--preprocess ")) == way.preprocess
    scaled = np.array([way.preprocess.apply(r) for r in rows])
    np.testing.assert_allclose(
        (scaled.mean(axis=0), scaled.std(axis=0)), [[0] * 2, [1] * 2], atol=0.01
    )
    assert ways(Preprocess(), InputSpec("x", (2,), "float32"), scaled) == []
    (back,) = ways(way.preprocess, InputSpec("x", (2,), "float32"), scaled)
    assert back.flag == "no --preprocess"


@pytest.mark.parametrize(
    "labels",
    [
        [str(v) for v in range(12)],
        [str(v) for v in range(1, 13)],
        [f"class{v}" for v in range(1, 12)],
        ["b", "A", "C"],
        ["no", "yes"],
        ["0", "1"],
    ],
)
def test_flags_choose_the_order_that_they_name(labels: list[str], tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", x=np.zeros((len(labels), 1)), y=np.array(labels))
    data = load(str(tmp_path / "d.npz"), tmp_path)
    assert data.y is not None

    def of(flag: str) -> tuple[Classes, Dataset]:
        option, _, value = flag.partition(" ")
        classes, parts = resolve(
            {"data": data}, len(labels), warn=lambda _: None,
            order=value if option == "--label-order" else "numeric",
            given=parse_names(value) if option == "--classes" else None,
        )  # fmt: skip
        return classes, parts["data"]

    classes, numbered = of("")
    assert numbered.y is not None
    found = orders(classes, np.unique(numbered.y))
    assert found
    for order in found:
        assert not np.array_equal(order.labels, classes.map)
        chosen, rows = of(order.flag)
        assert rows.y is not None
        at = {v: j for j, v in enumerate(order.labels.tolist())}
        there = {v: j for j, v in enumerate(chosen.map.tolist())}
        assert [at[v] for v in numbered.y.tolist()] == [there[v] for v in rows.y.tolist()]


def test_labels_off_by_one_are_named() -> None:
    """Where no row has the last label, or none the first."""
    classes = Classes(tuple("0123"), (0, 1, 2, 3))
    flags = {o.flag: o.labels.tolist() for o in orders(classes, np.array([1, 2, 3]))}
    assert flags["--classes 1,2,3,4"] == [1, 2, 3, 4]
    flags = {o.flag: o.labels.tolist() for o in orders(classes, np.array([0, 1, 2]))}
    assert flags["--classes background,0,1,2"] == [-1, 0, 1, 2]
    assert orders(classes, np.array([0, 1, 2, 3])) == []


def test_vectors_that_are_taken_for_images_of_colours_are_said() -> None:
    nothing = {"spread": None, "better": None, "vectors_as": None, "tried": []}
    found = about_input({**nothing, "vectors_as": [32, 30, 3]})
    assert [kind for kind, _ in found] == ["vectors_as_images"]
    assert "images of 32x30 pixels with their 3 colours last" in found[0][1]
    assert about_input(nothing) == []
