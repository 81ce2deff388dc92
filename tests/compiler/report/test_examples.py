"""The rows that a report shows: which, how, and how much of them."""

from __future__ import annotations

import base64
import io
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from edgemon.compiler.report import Given, render
from edgemon.compiler.report.examples import EACH, PICTURE_BYTES, examples, groups
from edgemon.compiler.report.pictures import PREFIX, SIDES, Shades, encoded
from edgemon.compiler.report.seen import PICTURE_BYTES as SEEN_BYTES
from edgemon.compiler.report.seen import seen
from edgemon.compiler.report.unusual import Usual, flat
from edgemon.runtime.preprocess import InputSpec
from tests.compiler.report.cases import Case, make_case, make_splits
from tests.compiler.report.given_rows import given_rows
from tests.compiler.report.page_reader import Reader

EVIL = '<img src=x onerror="alert(1)">'
LABELS = ["a", "b", "c", "d"]


@pytest.fixture(scope="module")
def case(tmp_path_factory: pytest.TempPathFactory) -> Case:
    return make_case(make_splits(tmp_path_factory.mktemp("rows"), "int8"), "softmax,entropy")


def described(case: Case, given: Given) -> tuple[Any, Any]:
    """Examples and what the model sees of as many rows as the case has."""
    first = np.arange(len(given.test))
    test = case.rows.test.take(first)
    fitted = replace(case.fitted, on_test=case.fitted.on_test.take(first))
    return examples(fitted, test, LABELS, given), seen(test, LABELS, given)


def opened(uri: str) -> Image.Image:
    assert uri.startswith(PREFIX)
    return Image.open(io.BytesIO(base64.b64decode(uri.removeprefix(PREFIX))))


def test_each_group_has_the_extremes_of_its_rows() -> None:
    score = np.array([5, 1, 5, 9, 0, 7, 2, 3, 8, 6], np.uint8)  # which must not be negated
    alarm = score >= 5
    wrong = np.arange(10) % 2 == 0
    found = {name: (count, own) for name, count, own in groups(score, alarm, wrong)}
    assert found["caught"] == (3, [8, 0, 2])
    assert found["missed"] == (2, [4, 6])
    assert found["false alarms"] == (3, [3, 5, 9])
    assert found["most suspicious"] == (10, [3, 8, 5, 9, 0, 2])
    assert found["least suspicious"] == (10, [4, 1, 6, 7, 0, 2])


def test_of_rows_that_are_alike_one_is_shown() -> None:
    score, track = np.arange(12.0), np.arange(12) // 4
    everybody = np.ones(12, bool)
    found = {name: own for name, _, own in groups(score, everybody, everybody, track)}
    assert found["caught"] == found["most suspicious"] == [11, 7, 3]
    assert found["least suspicious"] == [0, 4, 8]


def test_a_group_without_a_member_is_there_and_empty() -> None:
    nobody = np.zeros(4, bool)
    found = groups(np.arange(4), nobody, nobody)
    assert [(name, count, own) for name, count, own in found[:3]] == [
        ("caught", 0, []), ("missed", 0, []), ("false alarms", 0, []),
    ]  # fmt: skip
    assert found[3][2] == [3, 2, 1, 0]


def test_rows_are_those_of_the_evaluation(case: Case) -> None:
    test, found = case.rows.test, case.document["examples"]
    assert found["score_of"] == "softmax"
    verdicts = case.fitted.on_test.verdict
    for group in found["groups"]:
        assert 0 < len(group["shown"]) <= EACH
        for at in group["shown"]:
            row = found["rows"][at]
            i = row["row"]
            assert row["label"] == LABELS[test.labels[i]]
            assert row["decided"] == LABELS[test.predicted[i]]
            assert (row["verdict"] == "trust") == (verdicts[i] == 0)
            is_wrong, alarms = row["label"] != row["decided"], row["verdict"] != "trust"
            if group["name"] in ("caught", "missed"):
                assert (is_wrong, alarms) == (True, group["name"] == "caught")
            if group["name"] == "false alarms":
                assert (is_wrong, alarms) == (False, True)
    assert case.page.count("<image ") == len(found["rows"]) + len(
        case.document["seen"]["first_rows"]
    )


@pytest.mark.parametrize(
    ("rows", "spec", "preprocess", "drawn"),
    [
        (np.zeros((9, 8, 8, 1), np.uint8), InputSpec("x", (8, 8, 1), "float32"), "", (0, 1)),
        (np.full((9, 8, 8), 16, np.uint8), InputSpec("x", (8, 8, 1), "int8", 0.1), "", (0, 16)),
        (
            np.full((9, 8, 6, 3), 200, np.uint8), InputSpec("x", (4, 3, 3), "float32"),
            "resize=3x4,scale=1/255", (0, 255),
        ),
        (np.full((9, 8, 8, 4), 0.5), InputSpec("x", (8, 8, 4), "float32"), "", (0, 1)),
        (
            np.full((9, 8, 6, 3), -2.0, np.float32),
            InputSpec("x", (3, 8, 6), "float32", layout="nchw"), "", (-2, 0),
        ),
        (
            np.full((9, 3, 8, 6), 7.0, np.float32), InputSpec("x", (3, 8, 6), "float32"),
            "layout=nhwc", (0, 7),
        ),
        (np.full((9, 8 * 6 * 3), 99, np.int16), InputSpec("x", (8, 6, 3), "float32"), "", (0, 99)),
        (np.full((9, 28, 28), 0.5), InputSpec("x", (28, 28), "float32"), "", (0, 1)),
    ],
)  # fmt: skip
def test_images_of_all_forms_are_drawn(
    case: Case, tmp_path: Path, rows: np.ndarray, spec: InputSpec, preprocess: str,
    drawn: tuple[float, float],
) -> None:  # fmt: skip
    found, sees = described(case, given_rows(tmp_path, rows, spec, preprocess=preprocess))
    assert (found["kind"], tuple(found["drawn"])) == ("images", drawn)
    height, width = (6, 8)[::-1] if 6 in (*rows.shape, *spec.shape) else (rows.shape[1],) * 2
    for row in found["rows"]:
        assert opened(row["image"]).size == (width, height)
    assert len(sees["first_rows"]) == 9
    assert sees["histogram"]["rows"] == 9
    counts = sees["histogram"]["counts"]
    assert sum(counts) + sees["histogram"]["above"] == 9 * int(np.prod(spec.shape))


def test_channels_are_drawn_as_the_model_gets_them(case: Case, tmp_path: Path) -> None:
    red = np.zeros((5, 4, 4, 3), np.uint8)
    red[..., 0] = 255
    for spec in (
        InputSpec("x", (4, 4, 3), "uint8", 1.0),
        InputSpec("x", (3, 4, 4), "uint8", 1.0, layout="nchw"),
    ):
        given = given_rows(tmp_path, red, spec, preprocess="channels=bgr")
        found, sees = described(case, given)
        assert opened(found["rows"][0]["image"]).convert("RGB").getpixel((0, 0)) == (255, 0, 0)
        assert opened(sees["first_rows"][0]["image"]).convert("RGB").getpixel((0, 0)) == (0, 0, 255)


def test_what_is_no_number_is_drawn_black() -> None:
    image = np.array([[[np.nan], [np.inf], [-np.inf], [0.5]]])
    assert Shades.of(image).to_bytes(image).tolist() == [[0, 255, 0, 128]]
    assert Shades.of(np.full(3, np.nan)) == Shades(0.0, 1.0)


def test_pictures_stay_below_their_limit(case: Case, tmp_path: Path) -> None:
    """Noise, which no PNG makes smaller, and pictures of a common size."""
    noise = np.random.default_rng(0).integers(0, 256, (60, 96, 96, 3), np.uint8)
    found, sees = described(
        case, given_rows(tmp_path, noise, InputSpec("x", (96, 96, 3), "uint8", 1.0))
    )
    assert len(found["rows"]) > 2 * EACH
    for rows, most in ((found["rows"], PICTURE_BYTES), (sees["first_rows"], SEEN_BYTES)):
        sizes = {opened(r["image"]).size for r in rows}
        assert len(sizes) == 1
        assert max(sizes.pop()) in SIDES
        assert most / 4 < sum(len(r["image"]) for r in rows) <= most
    most_rows = [noise[i] for i in range(5 * EACH)]
    assert sum(map(len, encoded(most_rows, PICTURE_BYTES))) <= PICTURE_BYTES
    assert opened(encoded([noise[0]], PICTURE_BYTES)[0]).size == (64, 64)


def test_unusual_values_are_named_with_what_is_usual() -> None:
    rng = np.random.default_rng(0)
    usual = rng.normal(size=(2000, 5)) * (1, 10, 1, 1, 1) + (0, 50, 0, 0, 0)
    usual[:, 2] = np.nan
    usual[:, 3] = 7.0
    usual[:, 4] = rng.random(2000) < 0.01
    of = Usual(usual, ["near", "far", "empty", "same", "rare"])
    assert of.unusual(np.array([0.5, 45, np.nan, 7, 0])) == []
    same, far = of.unusual(np.array([0.0, 150, 3.0, 8, 0]))
    assert (same["column"], same["z"], same["beyond"]) == ("same", None, 0.0)
    assert (far["column"], far["value"], far["beyond"]) == ("far", 150.0, 0.0)
    assert far["z"] == pytest.approx(10, abs=0.7)
    assert (far["median"], *far["usual"]) == tuple(np.quantile(usual[:, 1], [0.5, 0.025, 0.975]))
    (rare,) = of.unusual(np.array([0.0, 50, 0, 7, 1]))
    assert (rare["column"], rare["usual"]) == ("rare", (0.0, 0.0))
    (missing,) = of.unusual(np.array([np.nan, 50, np.nan, 7, 0]))
    assert (missing["column"], missing["value"], missing["z"]) == ("near", None, None)


def test_a_table_of_one_row_and_of_names_that_are_markup(case: Case, tmp_path: Path) -> None:
    rows = np.array([[1.0, 2.0, 9.0]])
    given = given_rows(
        tmp_path, rows, InputSpec("x", (3,), "float32"), fit=np.zeros((50, 3)),
        features=(EVIL, "b", "c\x1b[31m"),
    )  # fmt: skip
    found, sees = described(case, given)
    assert (found["kind"], found["fit_rows"], len(found["rows"])) == ("table", 50, 1)
    assert [u["column"] for u in found["rows"][0]["unusual"]] == [EVIL, "b", "c\\x1b[31m"]
    assert sees["histogram"] is None
    assert [(c["column"], c["median"]) for c in sees["columns"]] == [
        (EVIL, 1.0), ("b", 2.0), ("c\\x1b[31m", 9.0),
    ]  # fmt: skip


def test_a_wide_table_is_described_at_once_and_its_columns_are_counted(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A quantile for each value took minutes."""
    rows = np.random.default_rng(0).normal(size=(300, 5000)).astype(np.float32)
    rows[0, 4321] = 50
    names = tuple(f"gene{i}" for i in range(5000))
    given = given_rows(tmp_path, rows, InputSpec("x", (5000,), "float32"), features=names)
    asked: list[object] = []
    for name in ("quantile", "nanquantile"):
        real = getattr(np, name)
        monkeypatch.setattr(np, name, lambda *a, r=real, **k: asked.append(r) or r(*a, **k))
    found, sees = described(case, given)
    assert 0 < len(asked) < 50
    assert (len(sees["columns"]), sees["width"]) == (200, 5000)
    assert found["fit_rows"] == 300
    usual = Usual(flat(given.fit), names)
    assert usual.unusual(rows[0])[0]["column"] == "gene4321"


def test_sequences_words_and_wide_signals_are_rows_with_a_number_alone(
    case: Case, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    for rows, spec in (
        (rng.normal(size=(9, 20, 6)), InputSpec("x", (20, 6), "float32")),
        (rng.integers(0, 40, (9, 12)), InputSpec("x", (12,), "int64")),
        (rng.normal(size=(9, 400)), InputSpec("x", (400,), "float32")),
        (rng.normal(size=(9, 5, 5, 7)), InputSpec("x", (5, 5, 7), "float32")),
        (rng.normal(size=(9, 1, 90, 3)), InputSpec("x", (1, 90, 3), "float32")),
    ):
        found, sees = described(case, given_rows(tmp_path, rows, spec))
        assert found["kind"] == "other"
        assert all(r["image"] is None and r["unusual"] == [] for r in found["rows"])
        assert sees["first_rows"] == sees["columns"] == []
        assert (sees["histogram"] is None) == spec.takes_tokens


@pytest.mark.parametrize("height", [1, 8, 20, 64])
def test_a_column_of_pixels_that_is_resized_is_drawn_as_it_is(
    case: Case, tmp_path: Path, height: int
) -> None:
    """It was made the shape of the input: an internal error, or another picture."""
    rows = np.full((9, height, 1, 1), 200, np.uint8)
    given = given_rows(
        tmp_path, rows, InputSpec("x", (8, 8, 1), "float32"), preprocess="resize=8x8"
    )
    found, sees = described(case, given)
    assert {opened(row["image"]).size for row in found["rows"]} == {(1, height)}
    assert {opened(row["image"]).size for row in sees["first_rows"]} == {(8, 8)}


def test_a_histogram_of_few_private_rows_is_left_out(case: Case, tmp_path: Path) -> None:
    """Of one row it was the values of its pixels."""
    for n, told in ((9, False), (100, True)):
        rows, spec = np.zeros((n, 8, 8, 1), np.uint8), InputSpec("x", (8, 8, 1), "float32")
        _, sees = described(case, given_rows(tmp_path, rows, spec, shown=False))
        assert (sees["histogram"] is not None) == told


def test_the_histogram_is_of_what_the_input_gets(case: Case, tmp_path: Path) -> None:
    rows = np.repeat(np.array([0.0, 0.25, 2.0, -1.0]), 4).reshape(1, 4, 4, 1)
    spec = InputSpec("x", (4, 4, 1), "int8", 1 / 255, -128)
    _, sees = described(case, given_rows(tmp_path, rows, spec, preprocess="scale=0.5"))
    found = sees["histogram"]
    assert tuple(found["range"]) == pytest.approx((0, 1))
    assert (found["below"], found["above"]) == (4, 0)
    at = {round(found["edges"][i], 3): n for i, n in enumerate(found["counts"]) if n}
    assert list(at.values()) == [4, 4, 4]
    edges = np.array(found["edges"])
    for value in (0.0, 0.125, 1.0):
        assert found["counts"][int(np.searchsorted(edges, value)) - 1] == 4


@pytest.mark.parametrize("values", [(0, 0), (3, 3), (-1e-7, 1e-7), (1e9, 1e9 + 1), (-5, 0.3)])
def test_the_histogram_of_floats_holds_all_values(
    case: Case, tmp_path: Path, values: tuple[float, float]
) -> None:
    rows = np.linspace(*values, 64).reshape(4, 4, 4, 1)
    _, sees = described(case, given_rows(tmp_path, rows, InputSpec("x", (4, 4, 1), "float64")))
    found = sees["histogram"]
    assert (sum(found["counts"]), found["below"], found["above"]) == (64, 0, 0)
    assert 1 <= len(found["counts"]) <= 41
    assert found["range"] is None


def test_what_comes_from_rows_is_escaped_on_the_page(case: Case, tmp_path: Path) -> None:
    """Names of columns, classes and files."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(500, 3))
    rows[:, 0] += 100 * (rng.random(500) < 0.5)
    given = given_rows(
        tmp_path, rows, InputSpec("x", (3,), "float32"), fit=rng.normal(size=(90, 3)),
        features=(EVIL, "b", "c"), files=(f"{EVIL}.png",) * 500,
    )  # fmt: skip
    labels = [EVIL, *LABELS[1:]]
    page = render(
        {
            **case.document,
            "examples": examples(case.fitted, case.rows.test, labels, given),
            "seen": seen(case.rows.test, labels, given),
        }
    )
    read = Reader(page)
    assert not read.open
    assert "img" not in read.tags
    assert f"{EVIL}, right" in read.shown
    assert f"{EVIL}.png" in read.shown
    assert re.search(rf"{re.escape(EVIL)} 1?\d+\.\d+ \(usually -", read.shown)
