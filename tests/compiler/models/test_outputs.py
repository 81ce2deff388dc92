"""Which output of a classifier has its scores, and whether they are logits or probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import open_model
from edgemon.compiler.models.outputs import LOGITS, PROBABILITIES, UNKNOWN, kind_of_values
from edgemon.compiler.models.selection import Selection
from edgemon.runtime.formats import open_classifier
from tests.labelled_onnx import write_labelled
from tests.tiny_onnx import write_conv_onnx, write_tiny_onnx


@pytest.mark.parametrize(
    "shape",
    [
        {},
        {"scores_first": True},
        {"zipmap": True},
        {"column_label": True},
        {"classes": ("ant", "bee", "cow")},
        {"classes": ("ant", "bee", "cow"), "zipmap": True},
        {"classes": ("ant", "bee", "cow"), "scores_first": True},
        {"classes": ("no", "yes"), "transform": "LOGISTIC"},
        {"classes": (0, 1), "transform": "LOGISTIC", "zipmap": True},
    ],
    ids=str,
)
def test_scores_are_found_beside_a_label(shape: dict[str, Any], tmp_path: Path) -> None:
    """Every default export of scikit-learn was refused; the advice led to the next refusal."""
    classes = shape.get("classes", (0, 1, 2))
    model = open_model(write_labelled(tmp_path / "m.onnx", **shape), tmp_path)
    model.require_classifier()
    assert model.output.tensor == "scores"
    assert model.n_classes == len(classes)
    assert model.output_kind == PROBABILITIES
    assert model.class_names == (classes if isinstance(classes[0], str) else ())
    assert model.origin.name == "m.onnx"
    classifier = open_classifier(model.path, kernels="onnxruntime")
    classifier.invoke(np.ones((1, 4), np.float32))
    assert classifier.output(0).sum() == pytest.approx(1)


def test_numbers_that_are_no_positions_are_class_names(tmp_path: Path) -> None:
    model = open_model(write_labelled(tmp_path / "m.onnx", classes=(3, 5, 8)), tmp_path)
    assert model.class_names == ("3", "5", "8")


def test_scores_behind_a_lone_label_are_found(tmp_path: Path) -> None:
    found = onnx.load(write_labelled(tmp_path / "m.onnx", classes=("a", "b", "c")))
    del found.graph.output[1:]
    onnx.save(found, tmp_path / "label.onnx")
    model = open_model(tmp_path / "label.onnx", tmp_path)
    assert model.output.tensor == "scores"
    assert model.prepared is not None
    assert model.prepared.left_out == ("label",)


def test_two_outputs_of_scores_are_a_question(tmp_path: Path) -> None:
    found = onnx.load(write_tiny_onnx(tmp_path / "m.onnx"))
    info = helper.make_tensor_value_info("hidden", TensorProto.FLOAT, ["N", 3])
    found.graph.output.insert(0, info)
    onnx.save(found, tmp_path / "two.onnx")
    with pytest.raises(ModelError, match=r"2 outputs \('hidden' .* --output NAME$"):
        open_model(tmp_path / "two.onnx", tmp_path).require_classifier()
    model = open_model(tmp_path / "two.onnx", tmp_path, Selection("probabilities"))
    model.require_classifier()
    assert (model.output.tensor, model.output_kind) == ("probabilities", PROBABILITIES)
    # A tensor inside is an output too, if it is asked for.
    inner = open_model(tmp_path / "two.onnx", tmp_path, Selection("logits"))
    assert (inner.output.tensor, inner.output_kind) == ("logits", LOGITS)
    with pytest.raises(
        ModelError, match=r"--output nonsense: no tensor has this name; there are '"
    ):
        open_model(tmp_path / "two.onnx", tmp_path, Selection("nonsense"))


def test_what_an_output_gives_is_told_by_operators(tmp_path: Path) -> None:
    cases = {
        "p": (write_tiny_onnx(tmp_path / "p.onnx"), PROBABILITIES),
        "log": (write_tiny_onnx(tmp_path / "log.onnx", head="LogSoftmax"), LOGITS),
        "z": (write_conv_onnx(tmp_path / "z.onnx"), LOGITS),
        "raw": (write_labelled(tmp_path / "raw.onnx", transform="NONE"), LOGITS),
    }
    assert {k: open_model(path, tmp_path).output_kind for k, (path, _) in cases.items()} == {
        k: kind for k, (_, kind) in cases.items()
    }


def test_what_an_output_gives_is_told_by_values() -> None:
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(50, 4))
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    assert kind_of_values(UNKNOWN, p) == PROBABILITIES
    assert kind_of_values(UNKNOWN, p.astype(np.float32).astype(np.float64)) == PROBABILITIES
    assert kind_of_values(UNKNOWN, np.rint(p * 256) / 256, 1 / 256) == PROBABILITIES
    assert kind_of_values(UNKNOWN, logits) == kind_of_values(PROBABILITIES, logits) == LOGITS
    several = 1 / (1 + np.exp(-logits))  # one sigmoid a class
    assert kind_of_values(PROBABILITIES, several) == PROBABILITIES
    assert kind_of_values(UNKNOWN, several) == LOGITS
