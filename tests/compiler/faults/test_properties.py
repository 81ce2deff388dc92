"""Changes of an image, as they are written and as they are made."""

from __future__ import annotations

import numpy as np
import pytest

from edgemon.compiler.errors import FaultError
from edgemon.compiler.faults.properties import STEPS, VALUES, Change, changed, parse

ROWS = np.arange(5)


def _images() -> np.ndarray:
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (5, 12, 12, 3)).astype(np.uint8)


def test_a_property_alone_has_the_published_values_and_a_range_has_thirteen() -> None:
    assert parse("noise") == [Change("noise", v) for v in VALUES["noise"]]
    found = parse("rotation=-30:30,brightness=0.5,fog=2:3,contrast")
    assert [c.value for c in found if c.property == "rotation"] == [
        -30.0 + 5 * i for i in range(STEPS)
    ]
    assert [c for c in found if c.property == "fog"] == [Change("fog", 2), Change("fog", 3)]
    assert sum(c.property == "contrast" for c in found) == 5


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rain", "'rain'; .* There are noise, rotation, brightness, gau"),
        ("noise=x", "from 0 to 1"), ("rotation=90", "-45 to 45"),
        ("rotation=10:-10", "-45 to 45"), ("fog=6", "from 1 to 5"), ("fog=1.5", "are whole"),
        ("noise,noise=0.1", "noise=0.1 is there twice"), ("", "a name is empty"),
        ("brightness=nan", "from 0 to 4"), ("frost", "photographs"),
    ],
)  # fmt: skip
def test_what_is_no_change_is_refused(text: str, said: str) -> None:
    with pytest.raises(FaultError, match=said):
        parse(text)


def test_values_that_change_nothing_change_nothing() -> None:
    images = _images()
    for change in (Change("noise", 0), Change("rotation", 0), Change("brightness", 1)):
        found = changed(images, change, seed=0, rows=ROWS, full_scale=255)
        assert np.array_equal(found, images), change


def test_changes_are_what_they_say() -> None:
    images = _images()
    darker = changed(images, Change("brightness", 0.5), seed=0, rows=ROWS, full_scale=255)
    assert np.abs(darker - images / 2).max() <= 0.5
    flat = np.full((5, 40, 40), 128, np.uint8)
    noisy = changed(flat, Change("noise", 0.1), seed=0, rows=ROWS, full_scale=255) / 255
    assert noisy.std() == pytest.approx(0.1, rel=0.05)
    corner = np.zeros((1, 9, 9), np.uint8)
    corner[0, 4, 8] = 200  # right of the centre; against the clock it goes up
    turned = changed(corner, Change("rotation", 45), seed=0, rows=ROWS[:1], full_scale=255)[0]
    row, column = np.unravel_index(turned.argmax(), turned.shape)
    assert row < 4 < column


def test_a_row_is_the_same_whatever_the_others_are_and_its_noise_grows() -> None:
    images = _images()
    whole = changed(images, Change("noise", 0.2), seed=3, rows=ROWS, full_scale=255)
    one = changed(images[2:3], Change("noise", 0.2), seed=3, rows=ROWS[2:3], full_scale=255)
    assert np.array_equal(whole[2:3], one)
    other = changed(images, Change("noise", 0.2), seed=4, rows=ROWS, full_scale=255)
    assert not np.array_equal(whole, other)
    grey = np.full((1, 8, 8), 128, np.uint8)
    small, large = (
        changed(grey, Change("noise", v), seed=0, rows=ROWS[:1], full_scale=255) - 128.0
        for v in (0.05, 0.1)
    )
    assert np.abs(large - 2 * small).max() <= 2
