"""--float-model is to be the network that the model was made from: its answers tell."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.errors import CompileError
from edgemon.compiler.float_model import LEAST_AGREEMENT, give_float_model
from edgemon.compiler.models import open_model
from edgemon.compiler.monitors import MONITORS
from edgemon.compiler.monitors.odin import AGREEMENT
from edgemon.runtime.preprocess import Preprocess
from edgemon.runtime.session import Session
from tests.command_line import edgemon, refused
from tests.quantised_onnx import image_rows, quantised, write_cnn

ODIN = "odin:eps=0.05:white=6"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A float network, its QDQ form, and the float one with its classes turned round."""
    folder = tmp_path_factory.mktemp("networks")
    path = write_cnn(folder / "cnn.onnx", batch=1)
    rows = np.moveaxis(image_rows(200, 1)[0], -1, 1)
    quantised(path, "qdq_int8", rows)
    x, y = image_rows(900, 2)
    np.savez(folder / "rows.npz", x=x, y=y)
    other = onnx.load(path)
    for stored in other.graph.initializer:
        if stored.name in ("w", "bias"):
            turned = numpy_helper.to_array(stored)[..., ::-1]
            stored.CopyFrom(numpy_helper.from_array(np.ascontiguousarray(turned), stored.name))
    onnx.save(other, folder / "turned.onnx")
    return folder


@pytest.fixture(scope="module")
def codes(folder: Path) -> Path:
    """The float network behind an int8 input, of codes 1/16 apart around -3."""
    model = onnx.load(folder / "cnn.onnx")
    graph = model.graph
    for node in graph.node:
        node.input[:] = ["real" if name == "input" else name for name in node.input]
    first = helper.make_node("DequantizeLinear", ["input", "step", "zero"], ["real"])
    nodes = [first, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    graph.input[0].type.tensor_type.elem_type = onnx.TensorProto.INT8
    stored = (("step", np.float32(1 / 16)), ("zero", np.int8(-3)))
    graph.initializer.extend(numpy_helper.from_array(v, k) for k, v in stored)
    onnx.save(model, folder / "codes.onnx")
    return folder / "codes.onnx"


def compiled(folder: Path, model: str, out: Path, source: str) -> list[str | Path]:
    return [
        "compile", folder / model, "--data", folder / "rows.npz", "--preprocess",
        "scale=16,offset=-3" if model == "codes.onnx" else "", "--monitor", f"{ODIN},odin_t",
        "--float-model", folder / source, "--out", out,
    ]  # fmt: skip


def test_the_agreement_is_said_and_kept(folder: Path, codes: Path, tmp_path: Path) -> None:
    """Of a model whose codes have no scale, and are moved by whole ones."""
    out = tmp_path / "bundle"
    found = edgemon(*compiled(folder, codes.name, out, "cnn.onnx"))
    assert found.exit_code == 0, found.stderr
    share = Bundle.open(out).manifest["monitors"][0]["details"][AGREEMENT]
    assert 0.97 < share <= 1  # the input is rounded, all else is the same
    assert f"cnn.onnx: answers as the model on {share:.1%}" in found.stderr + found.stdout
    scores = {m.name: m.score for m in Session(out).evaluate(image_rows(1, 3)[0][0]).monitors}
    assert scores["odin"] < scores["odin_t"]  # more confidence


def test_a_qdq_model_takes_the_gradient_of_its_source(folder: Path, tmp_path: Path) -> None:
    model = open_model(folder / "cnn_qdq_int8.onnx", tmp_path)
    settings = {"eps": 0.05, "white": 6.0}
    content = MONITORS["odin"](**settings, float_model=str(folder / "cnn.onnx")).companion(
        model, Preprocess()
    )
    own = MONITORS["odin"](**settings).companion(open_model(folder / "cnn.onnx", tmp_path),
                                                 Preprocess())  # fmt: skip
    assert content == own
    with pytest.raises(CompileError, match="give the float model"):
        MONITORS["odin"](**settings).companion(model, Preprocess())


def test_the_file_that_becomes_int8_here_is_the_float_model(tmp_path: Path) -> None:
    odin = MONITORS["odin"]()
    give_float_model([odin, MONITORS["odin_t"]()], None, tmp_path / "model.h5")
    assert odin.float_model == str(tmp_path / "model.h5")
    give_float_model([odin], tmp_path / "other.h5", tmp_path / "model.h5")
    assert odin.float_model == str(tmp_path / "other.h5")
    give_float_model([MONITORS["odin_t"]()], None, tmp_path / "model.h5")  # not asked for


def test_another_network_is_refused(folder: Path, tmp_path: Path) -> None:
    told = refused(*compiled(folder, "cnn_qdq_int8.onnx", tmp_path / "bundle", "turned.onnx"))
    assert "turned.onnx: answers as the model on" in told
    assert f"less than {LEAST_AGREEMENT:.0%}: it is another network" in told
    assert not (tmp_path / "bundle").exists()
