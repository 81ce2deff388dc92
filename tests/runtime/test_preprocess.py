from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.runtime.errors import InputError, NotFiniteError
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input

finite = st.floats(-1e6, 1e6)
declarations = st.builds(
    Preprocess,
    scale=finite,
    offset=finite,
    mean=st.lists(finite, max_size=3).map(tuple),
    std=st.lists(finite.filter(lambda v: v != 0), max_size=3).map(tuple),
    resize=st.none() | st.tuples(st.integers(1, 4096), st.integers(1, 4096)),
    channels=st.sampled_from(["asis", "rgb", "bgr", "gray"]),
)
PIXELS = InputSpec("x", (2, 2), "float32")


@given(declarations)
def test_text_and_json_give_back_the_same_declaration(declared: Preprocess) -> None:
    assert Preprocess.parse(str(declared)) == declared
    assert Preprocess.from_json(declared.to_json()) == declared


def test_parse_reads_fractions_and_lists() -> None:
    found = Preprocess.parse("scale=1/255, resize=30x20, mean=0.49:0.48:0.44, std=1/4")
    assert found == Preprocess(1 / 255, 0.0, (0.49, 0.48, 0.44), (0.25,), (30, 20))
    assert Preprocess.parse("") == Preprocess()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("scal=2", "KEY=VALUE"),
        ("scale", "KEY=VALUE"),
        ("scale=two", "scale=1/255"),
        ("scale=1/0", "scale=1/255"),
        ("scale=nan", "finite"),
        ("scale=1,scale=2", "twice"),
        ("resize=30", "resize=30x32"),
        ("resize=0x3", "1 to 65535"),
        ("std=0", "zero"),
        ("channels=hsv", "asis, rgb, bgr, gray"),
    ],
)
def test_parse_refuses_in_one_sentence(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        Preprocess.parse(text)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("damaged", [{}, {"scale": "x"}, {**Preprocess().to_json(), "resize": [3]}])
def test_damaged_json_is_refused(damaged: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="compile again"):
        Preprocess.from_json(damaged)


def test_steps_are_in_the_declared_order() -> None:
    image = np.array([[[10, 20, 30]]], np.uint8)
    declared = Preprocess.parse("channels=bgr,scale=1/10,offset=1,mean=1:2:3,std=2")
    np.testing.assert_array_equal(declared.apply(image), np.float32([[[1.5, 0.5, -0.5]]]))


def test_input_spec_keeps_every_bit() -> None:
    spec = InputSpec("x", (3, 4), "int8", float(np.float32(1 / 255)), -128)
    assert InputSpec.from_json(spec.to_json()) == spec
    with pytest.raises(InputError, match="damaged"):
        InputSpec.from_json({"name": "x"})


def test_quantised_input_rounds_half_to_even_and_saturates() -> None:
    spec = InputSpec("x", (5,), "int8", 0.5, -1)
    codes = to_input([0.25, 0.75, -1000.0, 1000.0, 0.0], Preprocess(), spec)
    assert codes.dtype == np.int8
    assert codes.tolist() == [[0, 0, -128, 127, -1]]  # of -0.5, 0.5, ..., -1


@given(st.lists(st.integers(0, 255), min_size=1, max_size=20))
def test_pixels_enter_an_mlperf_input_shifted_by_128(pixels: list[int]) -> None:
    spec = InputSpec("x", (len(pixels),), "int8", 1.0, -128)
    codes = to_input(np.array(pixels, np.uint8), Preprocess(), spec)
    assert codes[0].tolist() == [p - 128 for p in pixels]


def test_unquantised_integer_input_takes_rounded_values() -> None:
    spec = InputSpec("x", (3,), "uint8")
    assert to_input([1.5, -3.0, 400.0], Preprocess(), spec).tolist() == [[2, 0, 255]]


@pytest.mark.parametrize("shape", [(2, 2), (1, 2, 2), (2, 2, 1), (1, 2, 2, 1)])
def test_axes_of_length_one_may_be_missing_or_extra(shape: tuple[int, ...]) -> None:
    assert to_input(np.zeros(shape), Preprocess(), PIXELS).shape == (1, 2, 2)


@pytest.mark.parametrize("shape", [(3, 2), (4,), (2, 2, 3), ()])
def test_another_shape_is_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InputError, match="needs \\(2, 2\\)"):
        to_input(np.zeros(shape), Preprocess(), PIXELS)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_values_that_are_not_finite_are_told_apart(value: float) -> None:
    with pytest.raises(NotFiniteError):
        to_input([[0, 0], [0, value]], Preprocess(), PIXELS)


@pytest.mark.parametrize("image", [[["a", "b"], ["c", "d"]], np.zeros((2, 2), complex)])
def test_what_is_not_numbers_is_refused(image: Any) -> None:
    with pytest.raises(InputError, match="needs numbers"):
        to_input(image, Preprocess(), PIXELS)


def test_an_input_that_edgemon_cannot_fill_is_refused() -> None:
    with pytest.raises(InputError, match="complex64"):
        to_input(np.zeros(2), Preprocess(), InputSpec("x", (2,), "complex64"))


def test_mean_must_fit_the_channels() -> None:
    with pytest.raises(InputError, match="mean has 3 values"):
        Preprocess(mean=(1.0, 2.0, 3.0)).apply(np.zeros((4, 4, 2)))


@pytest.mark.parametrize("step", ["channels=gray", "channels=bgr", "resize=2x2"])
def test_steps_on_pictures_refuse_vectors(step: str) -> None:
    with pytest.raises(InputError, match="height, width"):
        Preprocess.parse(step).apply(np.zeros(7))
