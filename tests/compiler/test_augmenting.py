"""``compile --augment``: which rows are copied, who learns from copies, and when they are used."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler.augmenting import (
    FEW,
    augmented,
    copies_help,
    copies_wanted,
    facts,
    may_help,
    moved_copies,
    sentence,
)
from edgemon.compiler.copies import with_copies
from edgemon.compiler.cross_fitting import cross_fitted
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.errors import CompileError, DataError
from edgemon.compiler.faults.geometry import MOVED_BY, moved
from edgemon.compiler.lessons import lessons
from edgemon.compiler.monitors import MONITORS, parse
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.monitors.shared.disagreement import odds_against
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.statistics import tuning
from tests.command_line import edgemon
from tests.compiler.recordings import make_recording, recorded_splits
from tests.conftest import DEMO

MODEL, DATA = DEMO / "digits_int8.tflite", DEMO / "digits.npz"
LEARNERS = "second_opinion,mahalanobis_gap,prototype_odds"
OTHERS = "softmax,msp_t,prototypes,rmds,box,prophecy,selfchecker"


class Heard(Reporter):
    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.notes: list[str] = []

    def warn(self, text: str) -> None:
        self.warnings.append(text)

    def note(self, text: str) -> None:
        self.notes.append(text)


def images(tmp_path: Path, shape: tuple[int, ...], dtype: str = "uint8") -> Dataset:
    rng = np.random.default_rng(0)
    x = (255 * rng.random(shape)).astype(dtype)
    np.savez(tmp_path / "x.npz", x=x, y=np.arange(len(x)) % 3)
    return load(str(tmp_path / "x.npz"), tmp_path)


def compiled(
    out: Path, monitors: str, augment: int | None, guard: str = "", reporter: Reporter | None = None
) -> Any:
    options = Options(
        monitors=monitors, augment=augment, guard=guard, full_scale=16,
        promise=FalseAlarmPromise(rate=0.1, whose="monitor"),
    )  # fmt: skip
    return compile_bundle(MODEL, Sources(data=str(DATA)), out, options, reporter or Reporter())


def doubled(fit: Recording, copies: Recording, scratch: Path) -> Recording:
    """Rows, and copies of each that another recording stands for."""
    return augmented(fit, copies, len(fit), scratch)


def flipped(rows: Recording) -> Recording:
    """The same with wrong labels, from which nothing can be learned but nonsense."""
    assert rows.labels is not None
    return replace(rows, labels=(rows.labels + 1) % rows.n_classes)


@pytest.mark.parametrize("shape", [(5, 16, 12), (5, 16, 12, 1), (5, 16, 12, 3)])
def test_copies_are_images_of_their_rows_a_little_moved(
    tmp_path: Path, shape: tuple[int, ...]
) -> None:
    data = images(tmp_path, shape)
    found = moved_copies(data, 2, seed=3, scratch=tmp_path)
    (x,), (own,) = found.blocks(100), data.blocks(100)
    assert x.shape == (10, *shape[1:])
    assert x.dtype == np.uint8
    assert data.y is not None
    np.testing.assert_array_equal(found.y, np.tile(data.y, 2))
    for copy in (x[:5], x[5:]):
        assert (copy != own).any(axis=tuple(range(1, own.ndim))).all()
    assert (x[:5] != x[5:]).any()
    (again,) = moved_copies(data, 2, seed=3, scratch=tmp_path).blocks(100)
    np.testing.assert_array_equal(again, x)
    (other,) = moved_copies(data, 2, seed=4, scratch=tmp_path).blocks(100)
    assert (other != x).any()


def test_a_copy_of_a_row_is_the_same_wherever_the_row_stands(tmp_path: Path) -> None:
    data = images(tmp_path, (6, 8, 8))
    (whole,) = moved_copies(data, 1, seed=0, scratch=tmp_path).blocks(100)
    (part,) = moved_copies(data.take([4, 1]), 1, seed=0, scratch=tmp_path).blocks(100)
    np.testing.assert_array_equal(part, whole[[4, 1]])


def test_an_image_moves_by_what_is_said_and_no_further() -> None:
    """The mean position of a spot, over many draws; an image of one value stays what it is."""
    x = np.zeros((33, 65))
    x[12:21, 28:37] = 1  # a square about the centre
    down, across = np.mgrid[:33, :65]
    places: list[tuple[float, float]] = []
    for draw in range(200):
        y = moved(x, np.random.default_rng(draw))
        places.append((float((y * down).sum() / y.sum()), float((y * across).sum() / y.sum())))
    off = np.abs(np.array(places) - (16, 32))
    assert (off.max(axis=0) < np.array([33, 65]) * MOVED_BY * 1.15).all()
    assert (off.max(axis=0) > np.array([33, 65]) * MOVED_BY * 0.7).all()
    same = moved(np.full((9, 7, 2), 5.0), np.random.default_rng(0))
    np.testing.assert_allclose(same, 5.0)


@pytest.mark.parametrize(
    ("given", "rows", "copies"),
    [(None, 100, 2), (None, FEW, 1), (None, FEW + 1, 0), (0, 100, 0), (3, FEW + 1, 3)],
)
def test_few_images_are_copied_unasked(
    tmp_path: Path, given: int | None, rows: int, copies: int
) -> None:
    data = images(tmp_path, (rows, 2, 2))
    assert copies_wanted(given, data, parse(LEARNERS), Reporter()) == copies


def test_of_tables_there_are_no_copies(tmp_path: Path) -> None:
    for shape, dtype in (
        ((50, 4), "uint8"), ((50, 8, 8), "float32"), ((50, 3, 8, 8), "uint8"),
    ):  # fmt: skip
        data = images(tmp_path, shape, dtype)
        assert copies_wanted(None, data, parse(LEARNERS), Reporter()) == 0
        with pytest.raises(DataError, match=f"moves images of bytes.*{dtype} of the shape"):
            copies_wanted(1, data, parse(LEARNERS), Reporter())


def test_copies_from_which_nobody_learns_are_not_made(tmp_path: Path) -> None:
    data, heard = images(tmp_path, (50, 8, 8)), Heard()
    assert copies_wanted(None, data, parse(OTHERS), heard) == 0
    assert not heard.warnings
    assert copies_wanted(2, data, parse(OTHERS), heard) == 0
    assert "only second_opinion, mahalanobis_gap, mirror and prototype_odds" in heard.warnings[0]


def test_who_learns_from_copies_is_what_the_warning_says() -> None:
    learn = {name for name, kind in MONITORS.items() if kind.learns_from_moved}
    assert learn == {"second_opinion", "mahalanobis_gap", "mirror", "prototype_odds"}


def test_copies_teach_classifiers_of_features_alone(tmp_path: Path) -> None:
    """Nobody else's thresholds change, and no row is counted twice."""
    plain = compiled(tmp_path / "plain", f"{LEARNERS},{OTHERS}", 0)
    more = compiled(tmp_path / "more", f"{LEARNERS},{OTHERS}", 2)
    known = [{m["name"]: m["threshold"] for m in d["monitors"]} for d in (plain, more)]
    for name in OTHERS.split(","):
        assert known[0][name] == known[1][name]
    for name in LEARNERS.split(","):
        assert known[0][name] != known[1][name]
    for key in ("rows", "accuracy", "accuracy_by_split", "data"):
        assert plain[key] == more[key]
    assert plain["augmented"] is None
    found = more["augmented"]
    assert (found["copies_of_each"], found["used"]) == (2, True)
    assert found["copies"] == 2 * more["rows"]["fit"]
    assert 0 < found["errors"] < found["copies"]


@pytest.mark.parametrize("help_found", [True, False])
def test_copies_are_used_unasked_where_they_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, help_found: bool
) -> None:
    monkeypatch.setattr("edgemon.compiler.augmenting.MOST_WRONG", 1.0)
    monkeypatch.setattr("edgemon.compiler.augmenting.copies_help", lambda *_: help_found)
    heard = Heard()
    found = compiled(tmp_path / "b", LEARNERS, None, reporter=heard)
    assert found["options"]["augment"] is None
    assert found["augmented"]["used"] is help_found
    said = [f["text"] for f in found["findings"] if f["kind"] == "augmented"]
    assert len(said) == help_found
    assert sum("no signal learned from" in text for text in heard.notes) == (not help_found)
    own = compiled(tmp_path / "c", LEARNERS, 2 if help_found else 0)
    alike = [[m["threshold"] for m in d["monitors"]] for d in (found, own)]
    assert alike[0] == alike[1]


def test_where_many_rows_are_wrong_nothing_is_tried(tmp_path: Path) -> None:
    """The demonstration has 7 % of its fit rows wrong."""
    assert compiled(tmp_path / "b", LEARNERS, None)["augmented"] is None


@pytest.mark.parametrize(
    ("wrong", "tried"),
    [(0, True), (30, True), (31, False)],
)
def test_copies_are_tried_where_errors_are_few(tmp_path: Path, wrong: int, tried: bool) -> None:
    rows = make_recording(tmp_path / "a", "float32", 600, 0)
    labels = rows.predicted.astype(np.int64)
    labels[:wrong] = (labels[:wrong] + 1) % rows.n_classes
    assert may_help(replace(rows, labels=labels), learner()) is tried


def test_copies_of_which_none_is_finite_stop_what_asked_for_them_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> Recording:
        raise DataError("every row of the moved copies has a NaN")

    monkeypatch.setattr("edgemon.compiler.augmenting.MOST_WRONG", 1.0)
    monkeypatch.setattr("edgemon.compiler.pipeline.finite", none)
    heard = Heard()
    found = compiled(tmp_path / "b", LEARNERS, None, reporter=heard)
    assert found["augmented"] is None
    assert sum("every row of the moved copies has a NaN" in text for text in heard.notes) == 1
    with pytest.raises(DataError, match="has a NaN"):
        compiled(tmp_path / "c", LEARNERS, 1)


def test_copies_stand_beside_their_rows_where_some_are_left_out(tmp_path: Path) -> None:
    """Of two copies of each row, those with a NaN are gone."""
    rows = make_recording(tmp_path / "a", "int8", 40, 0)
    twice = make_recording(tmp_path / "b", "int8", 80, 1)
    left = np.flatnonzero(np.random.default_rng(0).random(80) < 0.6)
    found = augmented(rows, twice.take(left), 40, tmp_path)
    assert found.groups is not None
    np.testing.assert_array_equal(found.groups[40:], left % 40)
    np.testing.assert_array_equal(found.groups[:40], np.arange(40))


def test_guard_and_copies_go_together(tmp_path: Path) -> None:
    both = compiled(tmp_path / "b", "second_opinion,prototypes", 1, guard="rotation=20")
    assert both["guard"]["copies"] > 0
    assert both["augmented"]["copies"] == both["rows"]["fit"]


def test_what_was_copied_is_said_where_people_look(tmp_path: Path) -> None:
    out = tmp_path / "b"
    result = edgemon(
        "compile", MODEL, "--data", DATA, "--monitor", "second_opinion", "--augment", "1",
        "--false-alarm", "0.1", "--out", out,
    )  # fmt: skip
    assert result.exit_code == 0, result.stderr
    said = "signals that classify features also learned from"
    assert result.stderr.lower().count(said) == 1
    assert said in (out / "report.html").read_text().lower()
    assert json.loads((out / "manifest.json").read_text())["options"]["augment"] == 1


def test_a_wrong_number_of_copies_is_refused(tmp_path: Path) -> None:
    for count in ("9", "-1", "all"):
        result = edgemon(
            "compile", MODEL, "--data", DATA, "--augment", count, "--out", tmp_path / "b"
        )  # fmt: skip
        assert result.exit_code != 0
        assert "--augment" in result.stderr
    with pytest.raises(CompileError, match="--augment 9: give 0 to 8"):
        Options(augment=9).require_sound()


def learner() -> Sequence[Any]:
    return [MONITORS["second_opinion"](taps=("features",))]


@pytest.fixture
def helped(tmp_path: Path) -> Recording:
    """Few rows, and as copies many more of the same process."""
    few = make_recording(tmp_path / "few", "float32", 150, 0)
    more = make_recording(tmp_path / "more", "float32", 1500, 1)
    return augmented(few, more, len(few), tmp_path)


def test_copies_help_where_they_are_like_the_rows(tmp_path: Path, helped: Recording) -> None:
    assert copies_help(helped, learner(), 0)
    few, like = helped.without_moved, make_recording(tmp_path / "b", "float32", 150, 1)
    assert not copies_help(doubled(few, flipped(like), tmp_path), learner(), 0)


def test_errors_of_copies_do_where_rows_have_too_few(tmp_path: Path) -> None:
    rows = make_recording(tmp_path / "a", "float32", 600, 0)
    wrong = np.flatnonzero(~rows.correct)[tuning.FEWEST_ERRORS - 1 :]
    few = rows.take(np.setdiff1d(np.arange(600), wrong))
    assert (~few.correct).sum() == tuning.FEWEST_ERRORS - 1
    assert not copies_help(doubled(few, few, tmp_path), learner(), 0)
    others = make_recording(tmp_path / "b", "float32", len(few), 1)
    assert copies_help(doubled(few, others, tmp_path), learner(), 0)


def test_features_beyond_number_are_left_out(
    helped: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = replace(helped, labels=helped.predicted.astype(np.int64))
    assert may_help(right, learner())
    monkeypatch.setattr("edgemon.compiler.augmenting.WIDEST", 1)
    assert not may_help(right, learner())


def test_only_rows_as_they_are_are_judged(
    tmp_path: Path, helped: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither moved copies nor those of a guard."""
    judged: list[int] = []
    monkeypatch.setattr(
        "edgemon.compiler.augmenting.odds_against",
        lambda scores, predicted: judged.append(len(scores)) or odds_against(scores, predicted),
    )
    copies_help(helped, learner(), 0)
    few = helped.without_moved
    guarded = with_copies(few, flipped(few), np.arange(150), tmp_path, "changed")
    copies_help(augmented(guarded, few, 150, tmp_path), learner(), 0)
    assert sum(judged) == 4 * 150


def test_a_class_of_one_row_has_no_spread(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    """It was an internal error where all classes had one, and a library's warnings where some."""
    rows = make_recording(tmp_path / "a", "float32", 300, 0)
    for labels in (np.arange(300), np.where(np.arange(300) < 3, np.arange(300), 3)):
        own = replace(rows, labels=labels, n_classes=300, predicted=np.zeros(300, np.int32))
        copies_help(doubled(own, own, tmp_path), learner(), 0)
    assert not recwarn.list


def test_rows_by_themselves_are_so_again_without_their_copies(tmp_path: Path) -> None:
    """Groups that hold a row and its copies changed how prophecy and selfchecker divide rows."""
    rows = make_recording(tmp_path / "a", "int8", 60, 0)
    both = doubled(rows, rows, tmp_path)
    guarded = with_copies(rows, rows, np.arange(60), tmp_path, "changed")
    assert both.groups is not None
    assert both.without_moved.groups is None
    assert guarded.as_given.groups is None
    every = augmented(guarded, rows, 60, tmp_path)
    assert every.without_moved.groups is not None
    assert every.as_given.groups is None
    grouped = doubled(rows.grouped(np.arange(60) // 2), rows, tmp_path)
    np.testing.assert_array_equal(grouped.as_given.groups, np.arange(60) // 2)


def fusion() -> FusionMonitor:
    found = MONITORS["errors"](taps=("features", "logits"))
    assert isinstance(found, FusionMonitor)
    members = (MONITORS["msp_t"](taps=("logits",)), MONITORS["second_opinion"](taps=("features",)))
    return found.set_params(signals=members)


def test_a_fusion_learns_what_signals_are_worth_from_rows_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_recording(tmp_path / "a", "int8", 400, 0)
    whole = doubled(rows, make_recording(tmp_path / "b", "int8", 400, 1), tmp_path)
    trained = fusion().fit(whole)
    taught: list[Recording] = []
    fit = MONITORS["second_opinion"].fit
    monkeypatch.setattr(
        MONITORS["second_opinion"], "fit", lambda m, r: taught.append(r) or fit(m, r)
    )
    scores = cross_fitted(trained, "output", whole)
    assert scores.shape == (400, 2)
    assert np.isfinite(scores).all()
    judged: list[npt.NDArray[Any]] = []
    for part in taught:
        assert part.moved.sum() == len(part) / 2  # copies of the rows that it may learn from
        judged.append(np.setdiff1d(whole.groups, part.groups))
        assert len(part) == 2 * (400 - len(judged[-1]))
    np.testing.assert_array_equal(np.sort(np.concatenate(judged)), np.arange(400))


@pytest.mark.parametrize("rate", [0.05, 0.004])
def test_no_lesson_of_a_fusion_has_moved_copies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rate: float
) -> None:
    """Neither from threshold rows nor, where these are few, from a share of the fit rows."""
    rows = recorded_splits(tmp_path, "int8", 900)
    copies = make_recording(tmp_path / "c", "int8", 900, 7)
    given = replace(rows, fit=doubled(rows.fit, copies, tmp_path))
    taught, _ = lessons([fusion()], given, FalseAlarmPromise(rate=rate), 0)
    assert taught.said.startswith("all 900 fit rows")
    monkeypatch.setattr("edgemon.compiler.lessons.crosses", lambda *_: False)
    taught, _ = lessons([fusion()], given, FalseAlarmPromise(rate=rate), 0)
    assert taught.copies is None
    assert taught.held_out is not None
    assert not taught.held_out.moved.any()
    assert abs(len(taught.held_out) - (300 if rate < 0.01 else 450)) <= 2
    assert taught.fit.moved.any()


def test_facts_and_sentence_agree(tmp_path: Path) -> None:
    rows = make_recording(tmp_path / "a", "int8", 100, 0)
    found = facts(1, doubled(rows, rows, tmp_path), used=False)
    assert found["copies"] == 100
    assert found["errors"] == (~rows.correct).sum()
    assert "no signal learned from 100 copies" in sentence(found)
    assert "--augment 1: use them all the same" in sentence(found)
    assert "--augment 0: without" in sentence({**found, "used": True})
