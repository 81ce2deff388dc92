"""Which axis mirroring reverses, and taps of two inferences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgemon.runtime.errors import InputError
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.mirror import mirrored, width_axis
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input
from edgemon.runtime.taps import TapReader
from tests.tiny_tflite import W1

SPEC = InputSpec("input", (2, 2, 1), "float32")
X = np.array([1, 2, 3, 5], np.float32).reshape(1, 2, 2, 1)  # rows 1 2 and 3 5
TURNED = np.array([2, 1, 5, 3], np.float32)


@pytest.mark.parametrize(
    ("shape", "layout", "declared", "axis"),
    [
        ((32, 48, 3), "nhwc", "auto", 2),
        ((3, 32, 48), "nchw", "auto", 3),
        ((3, 32, 48), "nhwc", "nchw", 3),
        ((32, 48, 3), "nchw", "nhwc", 2),
        ((28, 28), "nhwc", "auto", 2),
        ((28, 28), "nchw", "auto", 2),
        ((28, 28, 1), "nhwc", "auto", 2),
        ((1, 28, 28), "nchw", "auto", 3),
        ((1, 28, 28), "nhwc", "nhwc", 2),  # one row of pixels with 28 channels, says the user
        ((1, 48, 3), "nhwc", "auto", 2),
    ],
)
def test_the_width_axis(shape: tuple[int, ...], layout: str, declared: str, axis: int) -> None:
    spec = InputSpec("input", shape, "float32", layout=layout)
    assert width_axis(spec, Preprocess(layout=declared)) == axis


@pytest.mark.parametrize("layout", ["nhwc", "nchw"])
def test_an_image_is_mirrored_left_right_whatever_the_layout(layout: str) -> None:
    image = np.random.default_rng(0).normal(size=(4, 6, 3)).astype(np.float32)
    shape = (4, 6, 3) if layout == "nhwc" else (3, 4, 6)
    spec = InputSpec("input", shape, "float32", layout=layout)
    x = mirrored(to_input(image, Preprocess(), spec), width_axis(spec, Preprocess()))
    np.testing.assert_array_equal(x, to_input(image[:, ::-1], Preprocess(), spec))
    assert x.flags.c_contiguous


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ((4,), "is not an image"),
        ((1, 4), "is not an image"),
        ((4, 1, 1), "is not an image"),
        ((), "is not an image"),
        ((8, 32, 32, 3), "is not an image"),
        ((32, 1, 3), "one pixel wide"),
        ((1, 28, 28), "declare --preprocess layout=nchw or layout=nhwc"),
        ((3, 32, 32), "declare --preprocess layout=nchw or layout=nhwc"),
    ],
)
def test_an_input_without_a_known_width_is_refused(shape: tuple[int, ...], says: str) -> None:
    with pytest.raises(InputError, match=says):
        width_axis(InputSpec("input", shape, "float32"), Preprocess())


@pytest.fixture
def model(tiny: Callable[..., Path]) -> Path:
    """Its outputs: probabilities, then the hidden layer."""
    return tiny(entry=(1, 2, 2, 1), outputs=(5, 2))


def test_taps_of_both_inferences_by_hand(model: Path) -> None:
    classifier = open_classifier(model)
    reader = TapReader(classifier, [1, 1, 0], ["plain", "mirror", "plain"], SPEC, Preprocess())
    plain, turned, output = (tap.copy() for tap in reader.read(X))
    np.testing.assert_array_equal(plain, W1 @ X.ravel())
    np.testing.assert_array_equal(turned, W1 @ TURNED)
    out = [np.zeros(3, np.float32) for _ in range(3)]
    reader.copy(X, out)
    np.testing.assert_array_equal(out, [plain, turned, output])


def test_the_image_itself_is_the_last_that_the_model_sees(model: Path) -> None:
    """Whoever reads the model's memory after a session finds the answer to the image."""
    classifier = open_classifier(model)
    classifier.invoke(X)
    answer = classifier.output(0)
    TapReader(classifier, [1], ["mirror"], SPEC, Preprocess()).copy(X, [np.zeros(3, np.float32)])
    np.testing.assert_array_equal(classifier.output(0), answer)


def test_without_a_mirrored_tap_there_is_one_inference(model: Path) -> None:
    classifier = open_classifier(model)
    calls: list[np.ndarray] = []
    invoke = classifier.invoke
    classifier.invoke = lambda x: (calls.append(x), invoke(x))[1]  # type: ignore[method-assign]
    vector = InputSpec("input", (4,), "float32")
    TapReader(classifier, [0, 1], ["plain"] * 2, vector, Preprocess()).read(X)
    assert len(calls) == 1
    with pytest.raises(InputError, match="no left and right"):
        TapReader(classifier, [0], ["mirror"], vector, Preprocess())
    TapReader(classifier, [0], ["mirror"], SPEC, Preprocess()).read(X)
    assert len(calls) == 3
    np.testing.assert_array_equal(calls[1].ravel(), TURNED)
