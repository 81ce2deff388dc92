"""Files as exporters write them: versions, weights elsewhere, weights among the inputs, batches."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import open_model
from edgemon.compiler.models.tap_rules import suggest
from edgemon.runtime.formats import open_classifier
from tests.quantised_onnx import table_rows, write_cnn, write_mlp
from tests.tiny_onnx import write_tiny_onnx


def _answers(path: Path, x: np.ndarray) -> np.ndarray:
    classifier = open_classifier(path, kernels="onnxruntime")
    found = []
    for row in x:
        classifier.invoke(row[None])
        found.append(classifier.output(0))
    return np.stack(found)


@pytest.mark.parametrize("opset", [7, 9, 11, 12, 13, 15, 17, 18, 19, 21, 22])
def test_taps_of_every_version_change_nothing(opset: int, tmp_path: Path) -> None:
    for write, shape in ((write_mlp, (8,)), (write_cnn, (1, 8, 8))):
        model = open_model(write(tmp_path / "m.onnx", opset=opset), tmp_path)
        found = suggest(model.graph)
        assert {"logits", "penultimate", "activation"} <= set(found)
        tensors = (model.graph.tensors[model.graph.outputs[0]], *found["logits"])
        tapped = model.with_taps((*tensors, *found["penultimate"]), tmp_path / "tapped.onnx")
        x = np.random.default_rng(0).normal(size=(20, *shape)).astype(np.float32)
        np.testing.assert_array_equal(_answers(tapped.path, x), _answers(model.path, x))


def test_weights_in_other_files_come_inside(tmp_path: Path) -> None:
    """They were refused, though every exporter writes them so above some size."""
    plain = write_mlp(tmp_path / "plain.onnx")
    folder = tmp_path / "external"
    folder.mkdir()
    onnx.save(
        onnx.load(plain), folder / "m.onnx", save_as_external_data=True, location="weights.bin",
        size_threshold=0,
    )  # fmt: skip
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    model = open_model(folder / "m.onnx", scratch)
    model.require_classifier()
    assert model.origin == folder / "m.onnx"
    x = table_rows(20, 0)[0]
    (folder / "weights.bin").unlink()
    np.testing.assert_array_equal(_answers(model.path, x), _answers(plain, x))
    with pytest.raises(
        ModelError, match=r"external data\) that cannot be read: .* beside the model"
    ):
        open_model(folder / "m.onnx", scratch)


def test_weights_outside_the_folder_are_not_read(tmp_path: Path) -> None:
    plain = onnx.load(write_mlp(tmp_path / "plain.onnx"))
    onnx.save(plain, tmp_path / "m.onnx", save_as_external_data=True, location="w.bin",
              size_threshold=0)  # fmt: skip
    inner = tmp_path / "inner"
    inner.mkdir()
    model = onnx.load(tmp_path / "m.onnx", load_external_data=False)
    for tensor in model.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = "../w.bin"
    (inner / "m.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ModelError, match="external data"):
        open_model(inner / "m.onnx", tmp_path)


def test_weights_that_are_inputs_too_are_no_inputs(tmp_path: Path) -> None:
    found = onnx.load(write_mlp(tmp_path / "m.onnx", ir_version=3, opset=8))
    for tensor in found.graph.initializer:
        info = helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
        found.graph.input.append(info)
    onnx.save(found, tmp_path / "old.onnx")
    model = open_model(tmp_path / "old.onnx", tmp_path)
    model.require_classifier()
    assert [model.graph.tensors[i].name for i in model.graph.inputs] == ["input"]


@pytest.mark.parametrize("batch", ["N", 1, 4])
def test_batches(batch: int | str, tmp_path: Path) -> None:
    model = open_model(write_tiny_onnx(tmp_path / "t.onnx", batch=batch), tmp_path)
    if batch == 4:
        with pytest.raises(ModelError, match="a batch of one image"):
            model.require_classifier()
    else:
        model.require_classifier()
