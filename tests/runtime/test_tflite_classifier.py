from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from edgemon.runtime import tflite_classifier
from edgemon.runtime.errors import BackendError, InputError
from edgemon.runtime.tflite_classifier import TfliteClassifier, reason

Tiny = Callable[..., Path]


@pytest.mark.parametrize("kernels", ["xnnpack", "builtin", "reference"])
def test_a_model_runs_on_every_kernel_set(tiny: Tiny, kernels: str) -> None:
    classifier = TfliteClassifier(tiny(), kernels=kernels)
    assert classifier.n_outputs == 1
    assert classifier.input.shape == (4,)
    for x in ([1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5]):
        classifier.invoke(np.array([x], np.float32))
        expected = np.exp(2 * np.array([x[0], x[1], x[2] + x[3]]))
        np.testing.assert_allclose(classifier.output(0), expected / expected.sum(), rtol=1e-5)


def test_a_copy_outlives_the_next_invoke(tiny: Tiny) -> None:
    classifier = TfliteClassifier(tiny())
    classifier.invoke(np.array([[1, 0, 0, 0]], np.float32))
    first = classifier.output(0)
    kept = first.copy()
    classifier.invoke(np.array([[0, 5, 0, 0]], np.float32))
    np.testing.assert_array_equal(first, kept)


def test_a_wrong_input_is_an_input_error(tiny: Tiny) -> None:
    with pytest.raises(InputError, match="does not fit"):
        TfliteClassifier(tiny()).invoke(np.zeros((1, 5), np.float32))


def test_missing_damaged_and_unknown_are_one_sentence(tmp_path: Path, tiny: Tiny) -> None:
    damaged = tmp_path / "damaged.tflite"
    damaged.write_bytes(tiny().read_bytes()[:200])
    for model, kernels, says in (
        (tmp_path / "none.tflite", "xnnpack", "no such file"),
        (damaged, "xnnpack", "refuses"),
        (damaged, "gpu", "cannot run a TFLite model; use xnnpack, builtin, reference"),
    ):
        with pytest.raises(BackendError, match=says) as error:
            TfliteClassifier(model, kernels=kernels)
        assert "\n" not in str(error.value)


def test_the_backend_names_itself() -> None:
    assert TfliteClassifier.backend().split()[0] in ("ai-edge-litert", "tflite-runtime")


def test_without_an_interpreter_the_sentence_says_what_to_install(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny()
    monkeypatch.setattr(tflite_classifier, "find_spec", lambda _: None)
    with pytest.raises(BackendError, match="pip install ai-edge-litert"):
        TfliteClassifier(model)


def test_tflite_runtime_with_numpy_2_is_refused_before_it_crashes(
    tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny()
    monkeypatch.setattr(
        tflite_classifier, "find_spec", lambda name: name == "tflite_runtime" or None
    )
    monkeypatch.setattr(tflite_classifier.np, "__version__", "2.1.0")
    with pytest.raises(BackendError, match=r"needs NumPy < 2, found 2\.1\.0"):
        TfliteClassifier(model)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Encountered unresolved custom op: x.\nSee guide", "Encountered unresolved custom op: x"),
        ("Was 3.Tensor 33 has invalid parameters.Was 3.", "Was 3"),
        ("tensorflow/lite/k.cc:7 a != b (1 != 2)Node number 0", "a != b (1 != 2)Node number 0"),
        ("", "no reason given"),
    ],
)
def test_the_reason_is_the_first_sentence(message: str, expected: str) -> None:
    assert reason(ValueError(message)) == expected


def test_state_does_not_leak_into_the_next_image(shared: Path) -> None:
    model = shared / "data/images/models/tflm_mnist_lstm_int8.tflite"
    classifier = TfliteClassifier(model)
    rng = np.random.default_rng(0)
    images = rng.integers(-128, 128, (5, 1, 28, 28)).astype(np.int8)
    alone = []
    for image in images:
        fresh = TfliteClassifier(model)
        fresh.invoke(image)
        alone.append(fresh.output(0))
    for image, expected in zip(images, alone, strict=True):
        classifier.invoke(image)
        np.testing.assert_array_equal(classifier.output(0), expected)
