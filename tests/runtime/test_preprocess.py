from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from edgemon.runtime.errors import InputError, NotFiniteError
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input, vectors_as

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
        ("resize=0x3", "1 to 4096"),
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


@pytest.mark.parametrize("text", ["scale=1/255", "scale=1/127.5", "scale=0.5", "scale=1/123456.5"])
def test_a_scale_is_written_as_people_write_it(text: str) -> None:
    assert str(Preprocess.parse(text)) == text


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


@pytest.mark.parametrize("shape", [(3, 2), (5,), (2, 2, 3), ()])
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


@pytest.mark.parametrize(
    ("declared", "stored", "turned"),
    [
        ("", "nhwc", False),
        ("", "nchw", True),
        ("layout=nchw", "nhwc", True),
        ("layout=nhwc", "nchw", False),
    ],
)
def test_channels_come_first_where_the_model_or_the_user_says_so(
    declared: str, stored: str, turned: bool
) -> None:
    image = np.arange(8).reshape(2, 2, 2)
    found = to_input(
        image, Preprocess.parse(declared), InputSpec("x", (2, 2, 2), "float32", layout=stored)
    )
    np.testing.assert_array_equal(found[0], image.transpose(2, 0, 1) if turned else image)
    assert found.flags.c_contiguous


@pytest.mark.parametrize("shape", [(4, 5), (4, 5, 1), (1, 4, 5, 1)])
def test_gray_images_fit_an_input_with_channels_first(shape: tuple[int, ...]) -> None:
    spec = InputSpec("x", (1, 4, 5), "float32", layout="nchw")
    image = np.arange(20).reshape(shape)
    np.testing.assert_array_equal(to_input(image, Preprocess(), spec)[0, 0], image.reshape(4, 5))


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(InputError, match="layout='chw' is unknown; use auto, nhwc, nchw"):
        Preprocess.parse("layout=chw")


def test_a_resize_that_no_memory_holds_is_refused_in_text_and_in_an_artifact() -> None:
    with pytest.raises(InputError, match="1 to 4096"):
        Preprocess.parse("resize=60000x60000")
    with pytest.raises(InputError, match="1 to 4096"):
        Preprocess.from_json({**Preprocess().to_json(), "resize": [4097, 1]})
    with pytest.raises(InputError, match="at most 16384 pixels a side"):
        Preprocess(resize=(2, 2)).apply(np.zeros((1, 16385), np.uint8))


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_a_flat_row_of_a_table_is_an_image_with_channels_last(layout: str) -> None:
    image = np.arange(4 * 5 * 3).reshape(4, 5, 3)
    spec = InputSpec("x", (4, 5, 3) if layout == "nhwc" else (3, 4, 5), "float32", layout=layout)
    declared = Preprocess.parse("channels=bgr,mean=1:2:3")
    np.testing.assert_array_equal(
        to_input(image.reshape(-1), declared, spec), to_input(image, declared, spec)
    )


@pytest.mark.parametrize(
    ("shape", "needed", "layout", "remedy"),
    [
        ((63,), (8, 8, 1), "nhwc", "give 64 values an image"),
        ((9, 7, 3), (8, 6, 3), "nhwc", "resize=6x8"),
        ((8, 6, 3), (8, 6, 1), "nhwc", "channels=gray"),
        ((9, 7, 3), (1, 8, 6), "nchw", "resize=6x8,channels=gray"),
        ((8, 6, 3), (3, 8, 6), "nhwc", "layout=nchw"),
        ((3, 8, 6), (3, 8, 6), "nchw", "layout=nhwc"),
    ],
)
def test_the_remedy_for_a_wrong_shape_works(
    shape: tuple[int, ...], needed: tuple[int, ...], layout: str, remedy: str
) -> None:
    spec = InputSpec("x", needed, "float32", layout=layout)
    with pytest.raises(InputError, match=f"{remedy}$") as error:
        to_input(np.zeros(shape), Preprocess(), spec)
    _, _, declared = str(error.value).partition("--preprocess ")
    image = np.zeros(shape if declared else 64)
    assert to_input(image, Preprocess.parse(declared), spec).shape == (1, *needed)


@pytest.mark.parametrize(
    ("shape", "says"), [((3, 8, 6), "channels last"), ((8, 6, 4), "the model was made for")]
)
def test_no_declaration_is_named_where_none_helps(shape: tuple[int, ...], says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        to_input(np.zeros(shape), Preprocess(), InputSpec("x", (8, 6, 3), "float32"))
    assert "--preprocess" not in str(error.value)


@pytest.mark.parametrize(
    ("image", "shape", "layout", "preprocess", "expected"),
    [
        ((48,), (4, 4, 3), "nhwc", "", (4, 4, 3)),
        ((1, 48), (4, 4, 3), "nhwc", "", (4, 4, 3)),
        ((48,), (3, 4, 4), "nchw", "", (4, 4, 3)),
        ((4, 4, 3), (3, 4, 4), "nchw", "", None),
        ((16,), (4, 4, 1), "nhwc", "", None),
        ((48,), (48,), "nhwc", "", None),
        ((47,), (4, 4, 3), "nhwc", "", None),
    ],
)
def test_a_vector_does_not_say_how_its_colours_lie(
    image: tuple[int, ...], shape: tuple[int, ...], layout: str, preprocess: str,
    expected: tuple[int, ...] | None,
) -> None:  # fmt: skip
    spec = InputSpec("x", shape, "float32", layout=layout)
    found = vectors_as(np.zeros(image), Preprocess.parse(preprocess), spec)
    assert found == expected


def test_a_large_value_does_not_become_the_smallest_code_of_64_bits() -> None:
    codes = to_input([1e30, -1e30, 3.0], Preprocess(), InputSpec("x", (3,), "int64", 1.0))
    assert codes.tolist() == [[2**63 - 1, -(2**63), 3]]


def test_bgr_of_an_image_without_a_channel_axis_does_not_mirror_it() -> None:
    image = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
    for shape in ((2, 3), (2, 3, 1)):
        found = Preprocess(channels="bgr").apply(image.reshape(shape))
        np.testing.assert_array_equal(found, image.reshape(shape))
