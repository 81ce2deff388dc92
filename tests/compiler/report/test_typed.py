"""The options of a compile in its report, as one types them."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from typer.main import get_command

from edgemon.compiler.commands.root import app
from edgemon.compiler.documents.asked import Options as Document
from edgemon.compiler.models.selection import Selection
from edgemon.compiler.options import Options
from edgemon.compiler.promise.thresholds import FalseAlarmPromise, MissPromise
from edgemon.compiler.report.typed import typed
from edgemon.runtime.preprocess import Preprocess

EVERY = Options(
    monitors="softmax,box", profile="scod", mirror=True, early_exit=True, thresholds="method",
    taps="gap", companion=Path("c.onnx"), float_model=Path("f.onnx"),
    selection=Selection("scores", {"gain": np.ones(2)}),
    preprocess=Preprocess.parse("scale=0.5,resize=3x4"), label_order="string",
    classes=("a b", "c"), decision_threshold=0.25, repeats="group", shared_rows="drop",
    exif="apply", group="track", target="cortex-m4f", certify_kernels="reference",
    expect_accuracy=0.9, promise=FalseAlarmPromise(0.1, 0.9, "each", "monitor"), guard="noise",
    full_scale=16, drift_run_length=0, convert="int8", seed=3, budget_kb=16.0, budget_us=2.5,
    examples=False, augment=2,
)  # fmt: skip


def known() -> set[str]:
    command: Any = get_command(app)
    return {o for param in command.commands["compile"].params for o in param.opts}


def test_what_is_as_by_default_is_not_typed() -> None:
    assert typed(Options().to_json()) == []
    assert typed(Options(seed=3).to_json()) == ["--seed 3"]


def test_every_option_is_typed_as_the_command_takes_it() -> None:
    document = EVERY.to_json()
    assert set(document) == set(get_type_hints(Document))
    same = {k for k, v in document.items() if v == Options().to_json().get(k)}
    assert same == {"promise_of"}, "give EVERY another value"
    found = typed(document)
    assert {shlex.split(text)[0] for text in found} <= known()
    assert len(found) == len(document) - 1
    assert {
        "--no-examples", "--mirror", "--false-alarm 0.1", "--classes 'a b,c'",
        "--preprocess resize=3x4,scale=0.5", "--input gain=FILE.npy", "--budget-kb 16",
    } <= set(found)  # fmt: skip


@pytest.mark.parametrize("rate", [0.05, 0.2])
def test_a_promise_of_misses_is_typed_whatever_its_rate(rate: float) -> None:
    found = typed(Options(promise=MissPromise(rate)).to_json())
    assert found == [f"--miss-rate {rate:g}"]


def test_numbers_and_names_are_not_rounded_or_divided() -> None:
    """A confidence of 0.9999999 stood there as 1, and names with commas as more names."""
    given = Options(
        promise=FalseAlarmPromise(0.12345678, 0.9999999), budget_kb=1234567.8, classes=("a,b", "c")
    )
    assert set(typed(given.to_json())) == {
        "--false-alarm 0.12345678", "--confidence 0.9999999", "--budget-kb 1234567.8",
        "--classes FILE.json",
    }  # fmt: skip
