"""``Preparation`` is ``to_input``, bit for bit, errors included."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgemon.runtime import _native
from edgemon.runtime.errors import InputError, NotFiniteError
from edgemon.runtime.preparation import MOST_CHANNELS, Preparation
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input

Array = npt.NDArray[Any]

SPECIAL = (
    0.0, -0.0, 0.5, 1.5, 2.5, -0.5, 126.5, 127.5, 127.49999, 254.5, 255.5, 32767.5, -32768.5, 1e-45,
    -1e-45, 1e30, -1e30, 3.4028235e38, -3.4028235e38, 3.5e38, float("inf"), float("-inf"),
    float("nan"),
)  # fmt: skip
DTYPES = (
    "bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "uint64", "float16", "float32",
    "float64", ">f4", ">f8", "complex64", "U1", "datetime64[s]",
)  # fmt: skip
INPUTS = ("int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64")


def outcome(prepare: Any, image: Any) -> tuple[Any, ...]:
    """All that can be seen of a result or an error."""
    try:
        with np.errstate(all="ignore"):
            found = prepare(image)
    except (InputError, NotFiniteError) as error:
        return type(error), str(error)
    return found.dtype, found.shape, found.tobytes()


def both(image: Any, steps: Preprocess, spec: InputSpec) -> None:
    fast = Preparation(steps, spec)
    for _ in range(2):  # in memory that was used
        assert outcome(fast, image) == outcome(lambda v: to_input(v, steps, spec), image)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Array, Preprocess, InputSpec]:
    shape = draw(
        st.sampled_from([(3, 2, 3), (4, 1, 1), (2, 5), (6,), (1,), (3, 3, 3), (2, 2, 2, 2)])
    )
    layout = draw(st.sampled_from(["nhwc", "nchw"]))
    quantised = draw(st.booleans())
    spec = InputSpec(
        "x", shape, draw(st.sampled_from(INPUTS)),
        draw(st.sampled_from([0.1, 1 / 255, 0.062745101749897, 1e-30])) if quantised else 0.0,
        draw(st.sampled_from([-128, 0, 3, 127])) if quantised else 0,
        layout,
    )  # fmt: skip
    each = st.sampled_from([(), (0.1,), (-0.0,), (0.4, 0.5, 0.6), (3e38,)])
    steps = Preprocess(
        scale=draw(st.sampled_from([1.0, 1 / 255, -3.0, 1e300, 1e-50])),
        offset=draw(st.sampled_from([0.0, -0.0, -1.0, 1e-60, 0.3])),
        mean=draw(each),
        std=tuple(v or 1.0 for v in draw(each)),
        channels=draw(st.sampled_from(["asis", "rgb", "bgr", "gray"])),
        layout=draw(st.sampled_from(["auto", "nchw"])),
    )
    size = int(np.prod(shape))
    values = draw(st.lists(st.one_of(
        st.integers(-300, 300), st.sampled_from(SPECIAL[:-6]), st.floats(-300, 300, width=32),
    ), min_size=size, max_size=size))  # fmt: skip
    if draw(st.integers(0, 3)) == 0:
        values[draw(st.integers(0, size - 1))] = draw(st.sampled_from(SPECIAL))
    dtype = draw(st.sampled_from(["uint8", "float32", "float64", "int16"]))
    with np.errstate(all="ignore"):
        flat = np.array(values, np.float64)
        flat = flat.astype(np.int64).astype(np.uint8) if dtype == "uint8" else flat.astype(dtype)
    image_shape = (*shape[1:], shape[0]) if draw(st.booleans()) and len(shape) == 3 else shape
    other = draw(st.sampled_from([image_shape, (size,), (1, *image_shape), (size, 1)]))
    return flat.reshape(other), steps, spec


@settings(max_examples=400, deadline=None)
@given(cases())
def test_the_fast_way_is_the_slow_way(case: tuple[Array, Preprocess, InputSpec]) -> None:
    both(*case)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("taken", INPUTS)
def test_images_of_every_dtype_into_inputs_of_every_dtype(dtype: str, taken: str) -> None:
    scale = 0.5 if taken in ("int8", "uint8", "int16") else 0.0
    spec = InputSpec("x", (4, 3, 1), taken, scale, 2 if scale else 0)
    image = np.arange(12).reshape(4, 3, 1).astype(dtype)
    both(image, Preprocess(scale=1 / 3), spec)
    both(np.zeros((0,), dtype), Preprocess(), spec)


def test_special_values_one_by_one() -> None:
    for taken in ("int8", "uint8", "int16", "float32"):
        for scale in (0.0, 1.0, 0.1):
            quantised = bool(scale) and taken != "float32"
            spec = InputSpec("x", (3,), taken, scale if quantised else 0.0, 3 if quantised else 0)
            for value in SPECIAL:
                for dtype in ("float32", "float64"):
                    with np.errstate(over="ignore"):
                        image = np.array([1, value, 2]).astype(dtype)
                    both(image, Preprocess(offset=0.5), spec)
                    both(image, Preprocess(), spec)


@pytest.mark.parametrize(
    ("layout", "channels"), [("nhwc", "asis"), ("nhwc", "bgr"), ("nchw", "rgb"), ("nchw", "bgr")]
)
def test_arrays_that_are_not_contiguous_and_things_that_are_no_arrays(
    layout: str, channels: str
) -> None:
    steps = Preprocess(1 / 255, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.25), channels=channels)
    shape = (3, 6, 5) if layout == "nchw" else (6, 5, 3)
    spec = InputSpec("x", shape, "int8", 0.02, -3, layout)
    whole = np.random.default_rng(0).integers(0, 256, (12, 10, 3), np.uint8)
    assert Preparation(steps, spec).is_fast
    for image in (whole, whole.astype(np.float32), whole.astype(np.float64)):
        plain = np.ascontiguousarray(image[:6, :5])
        unaligned = np.frombuffer(b"\0" + plain.tobytes(), plain.dtype, offset=1)
        for given_ in (
            plain, image[::2, ::2], image[:6, :5], plain[::-1], np.asfortranarray(plain),
            plain.transpose(1, 0, 2), plain[None], plain[:5], plain.reshape(-1), unaligned,
            plain.tolist(), memoryview(plain), plain.tobytes(), bytearray(plain.tobytes()), None,
            np.ma.masked_array(plain, plain > 9), plain[..., :1], plain.astype(object),
        ):  # fmt: skip
            both(given_, steps, spec)
        readonly = plain.copy()
        readonly.flags.writeable = False
        both(readonly, steps, spec)


def test_every_uint8_in_every_channel() -> None:
    levels = np.arange(256, dtype=np.uint8)
    image = np.stack([levels, levels[::-1], np.roll(levels, 9)], -1).reshape(16, 16, 3)
    steps = Preprocess(1 / 255, mean=(0.4914, 0.4822, 0.4465), std=(0.247, 0.2435, 0.2616))
    for taken, scale in (("int8", 0.0187), ("uint8", 0.0187), ("int16", 1e-4), ("float32", 0.0)):
        spec = InputSpec("x", image.shape, taken, scale, 5 if scale else 0)
        fast = Preparation(steps, spec)
        assert fast(image) is fast(image)  # went through C, into memory that is kept
        both(image, steps, spec)


@pytest.mark.parametrize("shape", [(127,), (16, 8), (43, 3), (20, 20, 3), (3, 20, 20)])
def test_images_of_more_than_a_block(shape: tuple[int, ...]) -> None:
    layout = "nchw" if shape[0] == 3 else "nhwc"
    spec = InputSpec("x", shape, "uint8", 0.02, 128, layout)
    rng = np.random.default_rng(0)
    image = rng.normal(size=(20, 20, 3) if len(shape) == 3 else shape)
    for at in (None, 0, -1):
        if at is not None:
            image.flat[at] = np.inf
        for dtype in (np.float32, np.float64):
            both(image.astype(dtype), Preprocess(offset=0.1), spec)


def test_wide_inputs_get_no_table_for_each_channel() -> None:
    wide = MOST_CHANNELS + 1
    spec = InputSpec("x", (2, 2, wide), "float32")
    assert Preparation(Preprocess(mean=(1.0,)), spec).is_fast
    assert not Preparation(Preprocess(mean=(1.0,) * wide), spec).is_fast
    both(np.ones((2, 2, wide), np.uint8), Preprocess(mean=(1.0,) * wide), spec)


def test_the_extension_refuses_arrays_that_do_not_fit() -> None:
    def make(**changed: Any) -> _native.Preparation:
        usual: dict[str, Any] = {
            "shape": (2, 3), "out": np.zeros((1, 2, 3), np.int8), "table": np.zeros(256, np.int8),
            "mean": np.zeros(1, np.float32), "std": np.ones(1, np.float32), "scale": 1.0,
            "offset": 0.0, "step": 0.1, "zero": 0.0, "reverse": False, "planar": False,
        }  # fmt: skip
        return _native.Preparation(**{**usual, **changed})

    assert make().fill(np.zeros((2, 3), np.uint8))
    for changed in (
        {"shape": (2, 4)}, {"shape": ()}, {"shape": (2,) * 9}, {"shape": (0, 3)},
        {"out": np.zeros(6, np.int64)}, {"table": np.zeros(255, np.int8)},
        {"mean": np.zeros(2, np.float32)}, {"std": np.zeros(3, np.float32)},
        {"mean": np.zeros(0, np.float32)}, {"mean": np.zeros(1, np.int32)},
        {"shape": (2**62, 2**62)}, {"shape": (-2, -3)},
    ):  # fmt: skip
        with pytest.raises((ValueError, OverflowError)):
            make(**changed)
    for changed in ({"shape": [2, 3]}, {"shape": ("a", 3)}, {"out": 3}):
        with pytest.raises(TypeError):
            make(**changed)
    readonly = np.zeros(6, np.int8)
    readonly.flags.writeable = False
    with pytest.raises((ValueError, BufferError)):
        make(out=readonly)
    with pytest.raises(TypeError):
        make().fill(3)


def test_an_input_that_damaged_metadata_describes_is_left_to_numpy() -> None:
    for changed in (
        {"shape": (-8, 8, 1)}, {"shape": (-2, -2)}, {"shape": (0, 3)}, {"shape": (2**40, 2**40)},
        {"scale": float("nan")}, {"scale": float("inf")}, {"zero_point": 10**400}, {"shape": ()},
        {"dtype": "nonsense"},
    ):  # fmt: skip
        spec = replace(InputSpec("x", (8, 8, 1), "int8", 0.1, 3), **changed)
        assert not Preparation(Preprocess(), spec).is_fast, changed
    for scale in (5e-324, -0.1, 1e308):
        spec = InputSpec("x", (8,), "int8", scale, 2**31)
        with np.errstate(all="ignore"):
            both(np.arange(8, dtype=np.uint8), Preprocess(), spec)
            both(np.arange(-4, 4).astype(np.float32), Preprocess(), spec)
