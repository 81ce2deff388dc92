"""ONNX files on which the default command failed, as people have them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from edgemon.compiler.data.sources import Sources
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.outputs import LOGITS, PROBABILITIES
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from tests.quantised_onnx import write

KINDS = {
    "bc_one": PROBABILITIES, "bc_two": LOGITS, "one_gemm": PROBABILITIES,
    "skl_mlp_proba": PROBABILITIES, "skl_rf_proba": PROBABILITIES,
}  # fmt: skip


def _breast_cancer(folder: Path) -> Path:
    """Three noisy copies of each row, standardised."""
    found = load_breast_cancer()
    x = StandardScaler().fit_transform(found.data).astype(np.float32)
    rng = np.random.default_rng(0)
    noisy = [x + 0.5 * rng.normal(size=x.shape).astype(np.float32) for _ in range(3)]
    np.savez(folder / "bc.npz", x=np.concatenate(noisy), y=np.tile(found.target, 3))
    return folder / "bc.npz"


@pytest.mark.parametrize("name", KINDS)
def test_models_that_people_have_give_a_bundle(name: str, shared: Path, tmp_path: Path) -> None:
    """Case 15."""
    case = shared / "data" / "cases" / "15-onnx-people-have"
    data = _breast_cancer(tmp_path) if name.startswith("bc") else case / "digits.npz"
    manifest = compile_bundle(case / f"{name}.onnx", Sources(data=f"{data}"), tmp_path / "bundle")
    assert manifest["proof"]["mismatches"] == manifest["proof"]["output_mismatches"] == 0
    assert manifest["model"]["output_kind"] == KINDS[name]


@pytest.mark.parametrize("name", ["zipmap", "labelfirst", "problabel"])
def test_a_label_beside_probabilities_gives_a_bundle(
    name: str, shared: Path, tmp_path: Path
) -> None:
    """Case 10."""
    case = shared / "data" / "cases" / "10-label-and-probabilities"
    manifest = compile_bundle(
        case / f"e6_{name}.onnx", Sources(data=f"{case / 'e6.npz'}"), tmp_path / "bundle",
        Options(monitors="msp_t"),
    )  # fmt: skip
    assert manifest["model"]["output"] == "p"
    assert "label" in manifest["model"]["outputs_left_out"]
    if name != "zipmap":
        assert manifest["own_labels"]["different"] == 0


def test_probabilities_that_turn_negative_are_refused(tmp_path: Path) -> None:
    """What an output gives is told by the first rows; logarithms of others would be faults."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 600).astype(np.float32)
    y = (p + rng.normal(0, 0.1, p.shape)).argmax(axis=1)
    parts = {"fit": -p[:200], "calibrate": p[200:400], "test": p[400:]}
    for (name, x), labels in zip(parts.items(), np.split(y, 3), strict=True):
        np.savez(tmp_path / f"{name}.npz", x=x, y=labels)
    nodes = [helper.make_node("MatMul", ["input", "w"], ["p"])]
    model = write(tmp_path / "m.onnx", nodes, {"w": np.eye(3, dtype=np.float32)}, [3])
    sources = Sources(**{name: f"{tmp_path / name}.npz" for name in parts})
    with pytest.raises(CompileError, match="'p' was taken for probabilities by its values"):
        compile_bundle(model, sources, tmp_path / "out", Options(monitors="msp_t"))
