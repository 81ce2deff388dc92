from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.runtime.errors import BackendError, InputError
from edgemon.runtime.formats import FORMATS, ONNX, TFLITE, ModelFormat, model_file, open_classifier
from edgemon.runtime.preprocess import INPUT
from tests.tiny_onnx import write_tiny_onnx
from tests.tiny_tflite import write_tiny

WRITERS = {TFLITE: write_tiny, ONNX: write_tiny_onnx}
every = pytest.mark.parametrize("found", FORMATS, ids=lambda found: found.suffix)


@every
def test_a_file_is_opened_by_its_content_on_each_of_its_kernel_sets(
    tmp_path: Path, found: ModelFormat
) -> None:
    path = WRITERS[found](tmp_path / "model")
    for kernels in found.classifier.kernel_sets:
        for content in (None, path.read_bytes()):
            classifier = open_classifier(path, kernels=kernels, content=content)
            assert isinstance(classifier, found.classifier)
            assert classifier.backend() == found.classifier.backend()
            assert (classifier.n_outputs, classifier.output_names) == (1, ("probabilities",))
            x = np.array([[1, 0, 0, 0]], np.float32)
            classifier.invoke(x)
            assert classifier.view(INPUT).tolist() == x[0].tolist()
            assert classifier.output(0).argmax() == 0
            with pytest.raises(InputError, match="does not fit"):
                classifier.invoke(x[:, :3])


@every
def test_kernels_of_another_format_are_one_sentence(tmp_path: Path, found: ModelFormat) -> None:
    path = WRITERS[found](tmp_path / "model")
    other = next(f for f in FORMATS if f is not found).classifier.kernel_sets
    with pytest.raises(BackendError, match=f"cannot run {found.classifier.runs}; use ") as error:
        open_classifier(path, kernels=next(iter(other)))
    assert "\n" not in str(error.value)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="cannot be read"):
        open_classifier(tmp_path / "none")


@every
def test_the_model_of_a_bundle_is_found_by_its_name(tmp_path: Path, found: ModelFormat) -> None:
    assert model_file(tmp_path).name == "model.tapped.tflite"
    (tmp_path / found.in_bundle).write_bytes(b"")
    assert model_file(tmp_path) == tmp_path / found.in_bundle
