from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.compiler.recording.input_range import measure, problems
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_codes, to_input

SHARES = InputSpec("x", (4, 4, 1), "int8", 1 / 255, -128)
PIXELS = np.random.default_rng(0).integers(0, 256, (20, 4, 4, 1)).astype(np.uint8)


@pytest.mark.parametrize(
    ("preprocess", "kinds"),
    [
        ("", ["clipped_input"]),
        ("scale=1/255", []),
        ("scale=1/65025", ["narrow_input"]),
        ("scale=1/127.5,offset=-1", ["clipped_input"]),
    ],
)
def test_what_does_not_fit_an_integer_input_is_said(preprocess: str, kinds: list[str]) -> None:
    found = measure(PIXELS, Preprocess.parse(preprocess), SHARES)
    assert found is not None
    assert [kind for kind, _ in problems(found.to_json())] == kinds


def test_the_share_of_clipped_values_is_counted() -> None:
    images = np.array([[0, 1, 2, 255]], np.uint8)
    found = measure(images, Preprocess(), InputSpec("x", (4,), "int8", 1 / 255, -128))
    assert found is not None
    assert found.clipped_share == 0.5  # what is above 1
    assert found.range == pytest.approx((0, 1))
    assert found.given == pytest.approx((0, 255))
    assert "50.0% of the input's values are clipped" in problems(found.to_json())[0][1]


def test_a_float_input_has_no_range() -> None:
    assert measure(PIXELS, Preprocess(), InputSpec("x", (4, 4, 1), "float32")) is None
    assert problems(None) == []


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_codes_of_32_bits_are_not_counted(dtype: str) -> None:
    """A count of each code took 32 GiB."""
    assert measure(PIXELS, Preprocess(), InputSpec("x", (4, 4, 1), dtype, 0.1, 0)) is None


def test_an_image_with_a_nan_does_not_count() -> None:
    rows = np.array([[np.nan, 0], [0, 1]], np.float32)
    spec = InputSpec("x", (2,), "int8", 1 / 255, -128)
    found = measure(rows, Preprocess(), spec)
    assert found is not None
    assert found.used_share == 1
    assert measure(rows[:1], Preprocess(), spec) is None


@given(
    st.lists(st.floats(-1e6, 1e6, width=32), min_size=3, max_size=3),
    st.sampled_from(["int8", "uint8", "int16", "float32"]),
    st.sampled_from([0.0, 1 / 255, 0.1]),
)
def test_an_input_is_its_codes_saturated(values: list[float], dtype: str, scale: float) -> None:
    spec = InputSpec("x", (3,), dtype, scale, 0)
    image = np.array(values, np.float32)
    x, codes = to_input(image, Preprocess(), spec), to_codes(image, Preprocess(), spec)
    if dtype == "float32":
        np.testing.assert_array_equal(x, codes)
        return
    limits = np.iinfo(dtype)
    inside = (codes >= limits.min) & (codes <= limits.max)
    np.testing.assert_array_equal(x[inside], codes[inside])
    assert set(x[~inside].tolist()) <= {limits.min, limits.max}
