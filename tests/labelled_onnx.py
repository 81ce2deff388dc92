"""Classifiers of a table as converters write them: a label beside the probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from tests.tiny_tflite import W1, W2


def write_labelled(
    path: Path, *, classes: Sequence[str | int] = (0, 1, 2), transform: str = "SOFTMAX",
    scores_first: bool = False, zipmap: bool = False, column_label: bool = False,
) -> Path:  # fmt: skip
    """A LinearClassifier of 4 features, whose answers are those of ``tests.tiny_tflite`` without
    its ReLU; of two classes it has one row of coefficients, as scikit-learn's."""
    n = len(classes)
    weight = (W2 @ W1)[:n] if n != 2 else (W2 @ W1)[1:2] - (W2 @ W1)[:1]
    words = isinstance(classes[0], str)
    given: dict[str, Any] = {f"classlabels_{'strings' if words else 'ints'}": list(classes)}
    nodes = [
        helper.make_node(
            "LinearClassifier", ["x"], ["label", "scores"], domain="ai.onnx.ml",
            coefficients=weight.astype(float).ravel().tolist(), intercepts=[0.0] * len(weight),
            post_transform=transform, **given,
        )
    ]  # fmt: skip
    label, scores = "label", "scores"
    if column_label:
        nodes += [
            helper.make_node(
                "Constant", [], ["column"],
                value=helper.make_tensor("column", TensorProto.INT64, [2], [-1, 1]),
            ),
            helper.make_node("Reshape", ["label", "column"], ["label_column"]),
        ]  # fmt: skip
        label = "label_column"
    kind = TensorProto.STRING if words else TensorProto.INT64
    outputs = [helper.make_tensor_value_info(label, kind, ["N", 1] if column_label else ["N"])]
    if zipmap:
        names = "classlabels_strings" if words else "classlabels_int64s"
        nodes.append(
            helper.make_node(
                "ZipMap", ["scores"], ["map"], domain="ai.onnx.ml", **{names: list(classes)}
            )
        )
        entry = helper.make_tensor_type_proto(TensorProto.FLOAT, [])
        each = helper.make_map_type_proto(kind, entry)
        outputs.append(helper.make_value_info("map", helper.make_sequence_type_proto(each)))
    else:
        outputs.append(helper.make_tensor_value_info(scores, TensorProto.FLOAT, ["N", n]))
    entry_info = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 4])
    graph = helper.make_graph(
        nodes, "labelled", [entry_info], outputs[::-1] if scores_first else outputs
    )
    opsets = [helper.make_opsetid("", 13), helper.make_opsetid("ai.onnx.ml", 1)]
    model = helper.make_model(graph, opset_imports=opsets)
    model.ir_version = 8
    onnx.save(model, path)
    return path


def rows(
    folder: Path, *, classes: Sequence[str | int] = (0, 1, 2), n: int = 600, seed: int = 0
) -> Path:
    """An .npz for it, of which some rows are labelled otherwise than it answers."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)).astype(np.float32)
    scores = x @ (W2 @ W1).T
    noisy = scores[:, : len(classes)] + rng.normal(0, 0.6, (n, len(classes)))
    path = folder / "rows.npz"
    np.savez(path, x=x, y=np.array(classes)[noisy.argmax(axis=1)])
    return path
