"""Which layers monitors read where the user chose none."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from edgemon.compiler.assignment import assign_taps
from edgemon.compiler.models import open_model
from edgemon.compiler.monitors import parse
from edgemon.runtime.preprocess import Preprocess


def test_trees_read_a_narrow_input_too(tiny: Callable[..., Path], tmp_path: Path) -> None:
    model = open_model(tiny(), tmp_path)
    forest, boosted = parse("forest,boosted_opinion")
    assign_taps(model, [forest, boosted], "", Preprocess())
    assert forest.taps == ("input", "hidden", "logits")
    assert boosted.taps == ("input",)
