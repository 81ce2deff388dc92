"""Which layers monitors read where the user chose none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from edgemon.compiler.commands.named_monitors import require_monitors, require_taps
from edgemon.compiler.errors import CompileError
from edgemon.compiler.left_out import LeftOut
from edgemon.compiler.models import open_model
from edgemon.compiler.monitors import parse
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.taps.assignment import assign_taps
from edgemon.runtime.preprocess import Preprocess
from tests.tiny_onnx import write_conv_onnx, write_unit_onnx


def test_trees_read_a_narrow_input_too(tiny: Callable[..., Path], tmp_path: Path) -> None:
    model = open_model(tiny(), tmp_path)
    forest, boosted = parse("forest,boosted_opinion")
    assign_taps(model, [forest, boosted], "", Preprocess())
    assert forest.taps == ("input", "hidden", "logits")
    assert boosted.taps == ("input",)


def test_what_the_model_cannot_give_is_said(tmp_path: Path) -> None:
    """auto left out six signals of an image classifier with a bare convolution in silence."""
    model = open_model(write_conv_onnx(tmp_path / "wide.onnx", height=40), tmp_path)
    (fusion,) = parse("auto", profile="scod")
    assert isinstance(fusion, FusionMonitor)
    left_out: list[LeftOut] = []
    assign_taps(model, [fusion], "", Preprocess(), left_out)
    names = {m.kind for m in fusion.members}
    unavailable = dict(fusion.unavailable)
    assert names.isdisjoint(unavailable)
    assert "more than 256 would not stay small" in unavailable["forest"]
    assert unavailable["boosted_opinion"] == unavailable["forest"]


@pytest.mark.parametrize("name", ["auto", "errors"])
def test_taps_of_a_fusion_are_answered_with_its_signals(
    name: str, tiny: Callable[..., Path], tmp_path: Path
) -> None:
    """'errors' is not among the monitors, it said; did you mean 'mirror'?"""
    model = open_model(tiny(), tmp_path)
    text = f"{name}=gap+logits"
    with pytest.raises(CompileError) as late:
        assign_taps(model, parse("auto"), text, Preprocess())
    assert f"{name!r} is a fusion" in str(late.value)
    assert "write SIGNAL=gap+logits, SIGNAL one of msp_t, " in str(late.value)
    with pytest.raises(CompileError) as early:
        require_taps(text, require_monitors("auto"), None)
    assert str(early.value).partition("one of")[0] == str(late.value).partition("one of")[0]


@pytest.mark.parametrize("kind", ["errors", "scod", "deepinfer", "pattern"])
def test_to_analyse_a_model_changes_no_estimator(
    kind: str, tiny: Callable[..., Path], tmp_path: Path
) -> None:
    """Signals, dense layers and reasons were set in passing, and taps returned."""
    model = open_model(tiny(), tmp_path)
    (estimator,) = parse(kind)
    before = repr(vars(estimator))
    found = estimator.analyse(model)
    assert found.parameters.keys() <= set(estimator.from_model)
    assert found.parameters
    assert repr(vars(estimator)) == before


def test_a_default_tap_that_the_model_lacks_is_said(tmp_path: Path) -> None:
    model = open_model(write_unit_onnx(tmp_path / "unit.onnx"), tmp_path)
    (selfchecker,) = parse("selfchecker")
    left_out: list[LeftOut] = []
    assign_taps(model, [selfchecker], "", Preprocess(), left_out)
    assert left_out == [
        LeftOut(
            "selfchecker",
            "it does without activation, of which this model has none that can be read",
        )
    ]
