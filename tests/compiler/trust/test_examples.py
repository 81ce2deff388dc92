"""Which wrong answers are shown, and how small."""

from __future__ import annotations

import base64
import io

import numpy as np
import pytest
from PIL import Image as Pillow

from edgemon.compiler.trust.examples import MOST, SIDE, example, picture, surest, worst_of_classes


def opened(address: str) -> Pillow.Image:
    head, _, text = address.partition(",")
    assert head == "data:image/png;base64"
    return Pillow.open(io.BytesIO(base64.b64decode(text)))


@pytest.mark.parametrize(
    ("shape", "mode", "size"),
    [
        ((8, 8), "L", (8, 8)), ((300, 150, 3), "RGB", (32, 64)), ((10, 12, 1), "L", (12, 10)),
        ((16, 16, 2), "L", (16, 16)),
    ],
)  # fmt: skip
def test_pictures_are_small_and_as_bright_as_full_scale_says(
    shape: tuple[int, ...], mode: str, size: tuple[int, int]
) -> None:
    image = opened(picture(np.full(shape, 8, np.uint8), 16))
    assert (image.mode, image.size) == (mode, size)
    assert max(image.size) <= SIDE
    assert set(np.unique(np.asarray(image))) <= {127, 128}


def test_a_picture_of_noise_is_no_larger_than_its_bytes() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (500, 500, 3)).astype(np.uint8)
    assert len(picture(noise, 255)) < 1.4 * 3 * SIDE * SIDE


def test_the_surest_wrong_answer_of_each_class_comes_first() -> None:
    labels = np.array([0, 0, 0, 1, 1, 2, -1])
    predicted = np.array([1, 2, 0, 0, 1, 2, 0])
    confidence = np.array([0.5, 0.9, 1.0, 0.95, 0.2, 1.0, 1.0])
    assert worst_of_classes(labels, predicted, confidence) == [3, 1]


def test_each_property_has_its_share() -> None:
    found = [
        example(
            None, label="a", answer="b", confidence=i / 100, row=i, full_scale=255,
            change=("noise" if i % 4 else "fog", 1.0),
        )
        for i in range(100)
    ]  # fmt: skip
    kept = surest(found)
    assert len(kept) == MOST
    assert sum(e["property"] == "fog" for e in kept) == MOST // 2
    assert kept[0]["confidence"] == 0.96
    assert surest([]) == []
