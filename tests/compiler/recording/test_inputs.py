"""Inputs that are no images: tokens, sound without a batch, doubles, and several of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.errors import ModelError
from edgemon.compiler.models import open_model
from edgemon.compiler.models.selection import Selection
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.runtime.errors import InputError
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input
from edgemon.runtime.session import Session
from tests.tiny_tflite import W1, W2, write_tiny

WORDS, LONG = 40, 6


def write_tokens(path: Path, dtype: int = TensorProto.INT64) -> Path:
    """Mean of the embeddings of LONG words of WORDS, then dense: three classes of words."""
    embedding = np.eye(3, dtype=np.float32)[np.arange(WORDS) % 3]
    nodes = [
        helper.make_node("Gather", ["table", "ids"], ["words"]),
        helper.make_node("ReduceMean", ["words"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("MatMul", ["mean", "w"], ["z"]),
    ]
    stored = {"table": embedding, "w": 6 * np.eye(3, dtype=np.float32)}
    return _write(path, nodes, [("ids", dtype, ["N", LONG])], ("z", ["N", 3]), stored)


def write_two_inputs(path: Path) -> Path:
    """Scores of x, times a gain that is an input too."""
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Mul", ["h", "gain"], ["z"]),
    ]
    entries = [("x", TensorProto.FLOAT, ["N", 4]), ("gain", TensorProto.FLOAT, [1])]
    return _write(path, nodes, entries, ("z", ["N", 3]), {"w": (W2 @ W1).T})


def write_sound(path: Path) -> Path:
    """16 samples without a batch axis: the energy of three bands of them."""
    bands = np.stack([np.cos(np.pi * (np.arange(16) + 0.5) * k / 16) for k in (1, 5, 11)], axis=1)
    nodes = [
        helper.make_node("Reshape", ["wave", "shape"], ["row"]),
        helper.make_node("MatMul", ["row", "bands"], ["h"]),
        helper.make_node("Mul", ["h", "h"], ["z"]),
    ]
    stored = {"bands": bands.astype(np.float32), "shape": np.array([1, 16])}
    return _write(path, nodes, [("wave", TensorProto.FLOAT, [16])], ("z", [1, 3]), stored)


def _write(
    path: Path, nodes: list[object], entries: list[tuple[str, int, list[object]]],
    out: tuple[str, list[object]], stored: dict[str, np.ndarray],
) -> Path:  # fmt: skip
    graph = helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info(*entry) for entry in entries],
        [helper.make_tensor_value_info(out[0], TensorProto.FLOAT, out[1])],
        [numpy_helper.from_array(np.ascontiguousarray(v), k) for k, v in stored.items()],
    )  # fmt: skip
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    onnx.checker.check_model(model)
    onnx.save(model, path)
    return path


def _noisy(scores: np.ndarray, noise: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    found: np.ndarray = (scores + rng.normal(0, noise, scores.shape)).argmax(axis=1)
    return found


@pytest.mark.parametrize("dtype", [TensorProto.INT64, TensorProto.INT32])
def test_tokens_go_in_as_they_are(dtype: int, tmp_path: Path) -> None:
    """ "the input is int64; edgemon can fill float32, int8, uint8, int16"."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, WORDS, (600, LONG))
    y = _noisy(np.stack([(x % 3 == k).mean(axis=1) for k in range(3)], axis=1), 0.15)
    np.savez(tmp_path / "rows.npz", x=x, y=y)
    out = tmp_path / "bundle"
    manifest = compile_bundle(
        write_tokens(tmp_path / "m.onnx", dtype), Sources(data=f"{tmp_path / 'rows.npz'}"), out
    )
    assert manifest["accuracy"] > 0.6
    assert manifest["clipped_share"] is None
    said = {m["monitor"]: m["reason"] for m in manifest["left_out"]}
    assert "input is int" in said["forest"]
    verify_bundle(out, f"{tmp_path / 'rows.npz'}[0:50]").require()
    session = Session(out)
    expected = np.stack([(x[:50] % 3 == k).mean(axis=1) for k in range(3)], axis=1).argmax(axis=1)
    assert [r.prediction for r in session.evaluate_batch(x[:50])] == expected.tolist()


def test_tokens_that_float32_would_change_are_refused() -> None:
    spec = InputSpec("ids", (2,), "int64")
    largest = (1 << 24) - 1
    np.testing.assert_array_equal(to_input([3, largest], Preprocess(), spec), [[3, largest]])
    with pytest.raises(InputError, match=r"give numbers up to 2\^24"):
        to_input([3, (1 << 24) + 3], Preprocess(), spec)


def test_a_row_with_an_unknown_token_is_named(tmp_path: Path) -> None:
    x = np.random.default_rng(0).integers(0, WORDS, (300, LONG))
    x[7, 2] = WORDS + 1
    y = np.stack([(x % 3 == k).sum(axis=1) for k in range(3)]).argmax(axis=0)
    np.savez(tmp_path / "rows.npz", x=x, y=y)
    model = write_tokens(tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=r"row 7: the model fails to run: .* out of data bounds"):
        compile_bundle(model, Sources(data=f"{tmp_path / 'rows.npz'}"), tmp_path / "out")


def test_sound_needs_no_batch(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 16)).astype(np.float32)
    bands = np.stack([np.cos(np.pi * (np.arange(16) + 0.5) * k / 16) for k in (1, 5, 11)], axis=1)
    np.savez(tmp_path / "rows.npz", x=x, y=_noisy((x @ bands) ** 2, 5.0))
    out = tmp_path / "bundle"
    sources = Sources(data=f"{tmp_path / 'rows.npz'}")
    manifest = compile_bundle(write_sound(tmp_path / "m.onnx"), sources, out)
    assert manifest["proof"]["mismatches"] == 0
    found = Session(out).evaluate_batch(x[:20])
    assert [r.prediction for r in found] == ((x[:20] @ bands) ** 2).argmax(axis=1).tolist()


def test_sound_needs_no_batch_in_tflite(tmp_path: Path, tiny_data: Path) -> None:
    out = tmp_path / "bundle"
    model = write_tiny(tmp_path / "m.tflite", entry=(4,))
    compile_bundle(model, Sources(data=str(tiny_data)), out, Options(monitors="softmax,forest"))
    plain = tmp_path / "plain"
    compile_bundle(
        write_tiny(tmp_path / "p.tflite"), Sources(data=str(tiny_data)), plain,
        Options(monitors="softmax,forest"),
    )  # fmt: skip
    x = np.load(tiny_data)["x"][:50]
    here, there = (Session(b).evaluate_batch(x) for b in (out, plain))
    assert [r.monitors for r in here] == [r.monitors for r in there]


def test_doubles_are_filled_and_read(tmp_path: Path) -> None:
    stored = {"w": (W2 @ W1).T.astype(np.float64)}
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["wide"]),
        helper.make_node("Cast", ["wide"], ["z"], to=TensorProto.FLOAT),
    ]
    entry = ("x", TensorProto.DOUBLE, ["N", 4])
    found = onnx.load(_write(tmp_path / "m.onnx", nodes, [entry], ("z", ["N", 3]), stored))
    del found.graph.node[1:]
    wide = helper.make_tensor_value_info("wide", TensorProto.DOUBLE, ["N", 3])
    found.graph.output[0].CopyFrom(wide)
    onnx.save(found, tmp_path / "double.onnx")
    model = open_model(tmp_path / "double.onnx", tmp_path)
    model.require_classifier()
    assert (model.input.dtype, model.output.dtype) == ("float64", "float32")
    x = np.array([1, 2, 3, 4.0])
    classifier = open_classifier(model.path, kernels="onnxruntime")
    classifier.invoke(to_input(x, Preprocess(), model.input))
    np.testing.assert_allclose(classifier.output(0), W2 @ W1 @ x)


def _fixed(folder: Path, name: str, value: np.ndarray) -> Selection:
    np.save(folder / "value.npy", value)
    return Selection.parse(inputs=[f"{name}={folder / 'value.npy'}"])


@pytest.mark.parametrize("kind", ["onnx", "tflite"])
def test_all_inputs_but_one_can_be_fixed(kind: str, tmp_path: Path, tiny_data: Path) -> None:
    if kind == "onnx":
        path = write_two_inputs(tmp_path / "m.onnx")
        selection = _fixed(tmp_path, "gain", np.array([2], np.int64))
    else:
        path = write_tiny(tmp_path / "m.tflite", fed=True)
        selection = _fixed(tmp_path, "w2", W2)
    with pytest.raises(ModelError, match=r"2 inputs \(.*\); edgemon fills one .* --input NAME="):
        open_model(path, tmp_path).require_classifier()
    out = tmp_path / "bundle"
    options = Options(monitors="softmax", selection=selection)
    manifest = compile_bundle(path, Sources(data=str(tiny_data)), out, options)
    assert manifest["model"]["file"] == path.name
    assert list(manifest["model"]["fixed_inputs"]) == list(selection.inputs)
    # The value is in the bundle's model, so that nobody needs the file again.
    (tmp_path / "value.npy").unlink()
    verify_bundle(out, f"{tiny_data}[0:50]").require()
    x = np.load(tiny_data)["x"][:50]
    expected = (np.maximum(x @ W1.T, 0) @ W2.T).argmax(axis=1)
    assert [r.prediction for r in Session(out).evaluate_batch(x)] == expected.tolist()


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("gain", np.zeros((2,), np.float32), r"has the shape \(2,\), the input \(1\)"),
        (
            "volume",
            np.zeros((1,), np.float32),
            "has no such input; its inputs are x, gain",
        ),
    ],
)
def test_values_that_fit_no_input_are_refused(
    name: str, value: np.ndarray, said: str, tmp_path: Path
) -> None:
    path = write_two_inputs(tmp_path / "m.onnx")
    with pytest.raises(ModelError, match=said):
        open_model(path, tmp_path, _fixed(tmp_path, name, value))
    tflite = write_tiny(tmp_path / "m.tflite", fed=True)
    selection = _fixed(tmp_path, "w2" if name == "gain" else name, value[:1])
    with pytest.raises(ModelError, match=r"shape \(1,\)|no such input; its inputs are input, w2"):
        open_model(tflite, tmp_path, selection)


@pytest.mark.parametrize("text", ["gain", "=v.npy", "gain=missing.npy"])
def test_a_value_that_cannot_be_read_is_refused(text: str) -> None:
    with pytest.raises(ModelError, match=r"write NAME=FILE.npy|cannot read the file"):
        Selection.parse(inputs=[text])
