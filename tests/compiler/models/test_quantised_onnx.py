"""Quantised ONNX models in all forms that ONNX Runtime makes, with everything at its default."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from edgemon.compiler.commands.verification import verify_bundle
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.errors import ModelError, ParityError
from edgemon.compiler.left_out import LeftOut
from edgemon.compiler.models import open_model
from edgemon.compiler.models import tap_rules as taps
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors import parse
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.taps import safety as tap_safety
from edgemon.runtime.session import Session
from tests.quantised_onnx import (
    DYNAMIC,
    STATIC,
    image_rows,
    quantised,
    table_rows,
    write_cnn,
    write_mlp,
)

ROWS = 600
OF_IMAGES = ("qdq_int8", "qdq_uint16", "qop_per_channel", "dynamic")
# Names that the quantiser gives to what a QuantizeLinear and a DequantizeLinear make.
CODES, BACK = "_QuantizeLinear_Output", "_DequantizeLinear_Output"


def _mlp(folder: Path, form: str) -> Path:
    return quantised(write_mlp(folder / "mlp.onnx"), form, table_rows(200, 2)[0])


def _cnn(folder: Path, form: str) -> Path:
    x, _ = image_rows(200, 2)
    return quantised(write_cnn(folder / "cnn.onnx"), form, np.moveaxis(x, -1, 1))


@pytest.mark.parametrize(
    ("kind", "form"),
    [*(("mlp", f) for f in (*STATIC, *DYNAMIC)), *(("cnn", f) for f in OF_IMAGES)],
)
def test_a_quantised_model_gives_a_proven_bundle(kind: str, form: str, tmp_path: Path) -> None:
    """A tap between an operator and its QuantizeLinear changed the answers: exit 4."""
    make, rows = {"mlp": (_mlp, table_rows), "cnn": (_cnn, image_rows)}[kind]
    x, y = rows(ROWS, 5)
    np.savez(tmp_path / "rows.npz", x=x, y=y)
    out = tmp_path / "bundle"
    sources = Sources(data=f"{tmp_path / 'rows.npz'}")
    manifest = compile_bundle(make(tmp_path, form), sources, out)
    assert manifest["proof"]["mismatches"] == manifest["proof"]["output_mismatches"] == 0
    signals = {c["signal"] for c in manifest["comparison"]}
    assert {"msp_t", "second_opinion", "mahalanobis_gap", "fdbd", "prototype_odds"} <= signals
    verify_bundle(out, f"{tmp_path / 'rows.npz'}[0:60]").require()
    assert Session(out).evaluate(x[0]).prediction in range(3)


@pytest.mark.parametrize("form", ["qdq_int8", "qdq_uint8", "qdq_per_channel", "qdq_int16"])
def test_codes_are_tapped_with_their_scale(form: str, tmp_path: Path) -> None:
    path = _mlp(tmp_path, form)
    model = open_model(path, tmp_path)
    (hidden,) = taps.suggest(model.graph)["penultimate"]
    assert hidden.name == f"r{CODES}"
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in onnx.load(path).graph.initializer}
    assert hidden.scale == stored["r_scale"]
    assert hidden.zero_point == stored["r_zero_point"]
    assert hidden.dtype == str(stored["r_zero_point"].dtype)


@pytest.mark.parametrize("form", ["qop_uint8", "qop_int8", "qop_per_channel"])
def test_operators_of_codes_have_roles_and_scales(form: str, tmp_path: Path) -> None:
    """QGemm, QLinearAdd, QLinearSoftmax and QLinearGlobalAveragePool were strangers."""
    mlp, cnn = (
        open_model(_mlp(tmp_path, form), tmp_path),
        open_model(_cnn(tmp_path, form), tmp_path),
    )
    for model, rules in ((mlp, ("logits", "penultimate")), (cnn, ("logits", "penultimate", "gap"))):
        found = taps.suggest(model.graph)
        for rule in rules:
            (tensor,) = found[rule]
            assert tensor.dtype in ("int8", "uint8") or (model, rule) == (cnn, "logits")
            assert tensor.scale not in (0, 1) or tensor.dtype == "float32"
    assert mlp.output_kind == "probabilities"
    assert mlp.graph.producer(taps.suggest(mlp.graph)["logits"][0].index).name == "QLinearAdd"  # type: ignore[union-attr]


def test_features_are_found_through_dynamic_scales(tmp_path: Path) -> None:
    """MatMulInteger, its scale and its bias hid the layer before the last."""
    model = open_model(_mlp(tmp_path, "dynamic"), tmp_path)
    (hidden,) = taps.suggest(model.graph)["penultimate"]
    assert (hidden.name, hidden.dtype) == ("r", "float32")
    # Codes whose scale is another for each image cannot be compared.
    anew = next(t for t in model.graph.tensors if t.name.endswith("r_quantized"))
    with pytest.raises(ModelError, match="is quantised anew for each image"):
        taps.choose(model.graph, anew.name)


def _changed_by(*names: str) -> Any:
    """A runtime whose answers change if one of these is tapped."""
    return lambda tensors: sum(t.name in names for t in tensors)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    return open_model(_mlp(tmp_path, "qdq_int8"), tmp_path)


def _chosen(model: Model) -> list[Tensor]:
    found = taps.suggest(model.graph)
    output = model.graph.tensors[model.graph.outputs[0]]
    return [output, *found["logits"], *found["penultimate"]]


def test_taps_that_change_nothing_stay(model: Model) -> None:
    assert tap_safety.settle(model, _chosen(model), _changed_by()) == {}


def test_another_tensor_of_the_same_values_is_tried(model: Model) -> None:
    output, logits, hidden = _chosen(model)
    moves = tap_safety.settle(model, [output, logits, hidden], _changed_by(f"r{CODES}"))
    assert moves == {hidden: model.graph.tensors[model.graph.consumers(hidden.index)[0].outputs[0]]}
    # Where no logits can be had, the log-odds of the probabilities say the same.
    all_logits = (logits.name, f"z{BACK}", "z")
    moves = tap_safety.settle(model, [output, logits, hidden], _changed_by(*all_logits))
    assert moves == {logits: output}


def test_a_signal_without_its_tap_is_left_out_and_said(model: Model) -> None:
    output, logits, hidden = _chosen(model)
    (fusion,) = parse("auto")
    assert isinstance(fusion, FusionMonitor)
    fusion.set_params(**fusion.analyse(model).parameters)
    for member in fusion.members:
        names = {"msp_t": (logits.name,), "forest": ("input", hidden.name, logits.name)}
        names |= {"fdbd": (hidden.name, logits.name), "boosted_opinion": ("input",)}
        member.set_params(taps=names.get(member.kind, (hidden.name,)))
    left_out: list[LeftOut] = []
    tap_safety.follow([fusion], {hidden: None, logits: output}, left_out)
    kept = {m.kind: m.taps for m in fusion.members}
    assert kept == {
        "msp_t": (output.name,), "forest": ("input", output.name), "boosted_opinion": ("input",)
    }  # fmt: skip
    said = {x.monitor: x.reason for x in left_out}
    assert said["second_opinion"] == f"to read {hidden.name} changes the model's answers"
    assert said["msp_t"].endswith(f"it reads {output.name} in its place")


def test_a_named_monitor_without_its_tap_is_refused(model: Model) -> None:
    hidden = _chosen(model)[2]
    (box,) = parse("box")
    box.set_params(taps=(hidden.name,))
    with pytest.raises(ParityError, match=r"monitor 'box': .* name other layers with --taps"):
        tap_safety.follow([box], {hidden: None}, [])
