"""Images that are no digits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import typer
from scipy import ndimage

from edgemon.bench.glyphs import LETTERS, SIDE, TURNS_TO_A_DIGIT, letters, main, mixed, turned


@pytest.fixture(scope="module")
def digits() -> tuple[np.ndarray, np.ndarray]:
    """Each class is drawn at a place of its own, and is as bright as its number says."""
    y = np.tile(np.arange(10), 8)
    x = np.zeros((len(y), SIDE, SIDE), np.uint8)
    x[np.arange(len(y)), 2 * y, 1] = 20 * y + 10
    return x, y


def test_each_letter_is_drawn_with_its_centre_in_the_middle() -> None:
    assert len(set(LETTERS)) == len(LETTERS)
    for image in letters(150, np.random.default_rng(0)):
        rows, columns = np.nonzero(image > 32)
        assert 15 <= max(np.ptp(rows), np.ptp(columns)) + 1 <= 21
        assert np.abs(np.subtract(ndimage.center_of_mass(image), 13.5)).max() < 1


def test_turned_digits_are_those_that_do_not_stay_digits(
    digits: tuple[np.ndarray, np.ndarray],
) -> None:
    x, y = digits
    found = turned(40, x, y, np.random.default_rng(0))
    classes = (found.max(axis=(1, 2)) - 10) // 20
    assert not np.isin(classes, TURNS_TO_A_DIGIT).any()
    assert (found[:, [1, SIDE - 2], :].max(axis=(1, 2)) > 0).all()  # columns have become rows


def test_mixed_digits_are_of_two_classes(digits: tuple[np.ndarray, np.ndarray]) -> None:
    x, y = digits
    found = mixed(40, x, y, np.random.default_rng(0))
    assert all(len(np.unique(image[image > 0])) == 2 for image in found)


def test_the_same_seed_draws_the_same_rows(
    digits: tuple[np.ndarray, np.ndarray], tmp_path: Path
) -> None:
    x, y = digits
    np.savez(tmp_path / "digits.npz", x=x[..., None], y=y)
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        main(tmp_path / "digits.npz", tmp_path / name, rows=10, seed=seed)
    for kind in ("letters", "turned", "mixed"):
        a, b, c = (np.load(tmp_path / name / f"{kind}.npz")["x"] for name in "abc")
        assert a.shape == (10, SIDE, SIDE, 1)
        np.testing.assert_array_equal(a, b)
        assert (a != c).any()


def test_what_has_no_digits_is_said_in_a_sentence(tmp_path: Path) -> None:
    x, y = np.zeros((9, SIDE, SIDE, 1), np.uint8), np.arange(9)
    path = tmp_path / "given.npz"
    (tmp_path / "text.npz").write_text("no archive")
    np.save(tmp_path / "array.npy", x)
    with pytest.raises(typer.BadParameter, match=r"no \.npz with arrays x and y"):
        main(tmp_path / "text.npz", tmp_path / "out")
    with pytest.raises(typer.BadParameter, match=r"no \.npz with arrays x and y"):
        main(tmp_path / "array.npy", tmp_path / "out")
    for arrays, said in (
        ({"x": x}, "no .npz with arrays x and y"),
        ({"x": x[:, :20], "y": y}, r"x must be \(n, 28, 28, 1\) uint8, and is \(9, 20, 28, 1\)"),
        ({"x": x.astype(float), "y": y}, "and is .* float64"),
        ({"x": x, "y": y[:3]}, r"y must be \(9,\) whole"),
        ({"x": x, "y": y / 2}, r"y must be \(9,\) whole"),
        ({"x": x, "y": y}, "has 6 digits that can be turned"),
        ({"x": x, "y": np.full(9, 5)}, "and 1 classes"),
    ):
        np.savez(path, **arrays)
        with pytest.raises(typer.BadParameter, match=said):
            main(path, tmp_path / "out", rows=9)
    assert not (tmp_path / "out").exists()
