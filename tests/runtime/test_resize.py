from __future__ import annotations

import numpy as np
import PIL
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from PIL import Image

from edgemon.runtime.preprocess import Preprocess
from edgemon.runtime.resize import resize_bilinear

sides = st.integers(1, 90)
PILLOW = int(PIL.__version__.split(".")[0])


def _picture(seed: int, shape: tuple[int, ...], extreme: bool) -> np.ndarray:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, shape, dtype=np.uint8)
    return np.where(pixels > 127, 255, 0).astype(np.uint8) if extreme else pixels


@given(sides, sides, sides, sides, st.sampled_from([(), (3,)]), st.integers(0, 9), st.booleans())
def test_resize_equals_pillow_bit_for_bit(
    height: int, width: int, to_height: int, to_width: int, channels: tuple[int, ...], seed: int,
    extreme: bool,
) -> None:  # fmt: skip
    # Before version 13 Pillow never took the vertical pass first.
    assume(PILLOW >= 13 or height - to_height <= 2 * (width - to_width) or to_height >= height)
    image = _picture(seed, (height, width, *channels), extreme)
    expected = Image.fromarray(image).resize((to_width, to_height), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(resize_bilinear(image, to_width, to_height), np.asarray(expected))


@given(sides, sides, sides, sides, st.integers(0, 9))
def test_resize_of_floats_equals_pillows_float_mode(
    height: int, width: int, to_height: int, to_width: int, seed: int
) -> None:
    assume(PILLOW >= 13 or height - to_height <= 2 * (width - to_width) or to_height >= height)
    image = np.random.default_rng(seed).normal(size=(height, width)).astype(np.float32)
    expected = Image.fromarray(image).resize((to_width, to_height), Image.Resampling.BILINEAR)
    np.testing.assert_allclose(
        resize_bilinear(image, to_width, to_height), np.asarray(expected), rtol=1e-5, atol=1e-6
    )


@given(sides, sides, sides, sides, st.integers(0, 255))
def test_a_plain_image_stays_plain(h: int, w: int, to_h: int, to_w: int, value: int) -> None:
    assert (resize_bilinear(np.full((h, w), value, np.uint8), to_w, to_h) == value).all()


def test_the_same_size_is_the_same_image() -> None:
    image = _picture(0, (7, 5, 3), extreme=False)
    np.testing.assert_array_equal(resize_bilinear(image, 5, 7), image)


@pytest.mark.parametrize("seed", range(3))
def test_gray_equals_pillow(seed: int) -> None:
    image = _picture(seed, (64, 64, 3), extreme=False)
    expected = np.asarray(Image.fromarray(image).convert("L"))
    np.testing.assert_array_equal(Preprocess(channels="gray").apply(image), expected)
