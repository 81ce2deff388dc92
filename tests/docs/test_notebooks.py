"""The notebooks of the documents run from top to bottom; they are kept without outputs.

Cells run in this process, one after another: a kernel of its own for each would import everything
anew. ``make docs`` runs them in kernels, and shows what they print.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.runtime.test_device_environments import VARIABLE

nbformat = pytest.importorskip("nbformat", reason="pip install 'edgemon[notebook]'")
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks() -> None:
    assert {p.stem for p in NOTEBOOKS} >= {"tabular", "images", "operating_points"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_no_output_is_kept(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs(
    path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    device = os.environ.get(VARIABLE, "").split(":")[0]
    if device:
        monkeypatch.setenv("DEVICE_PYTHON", device)
    monkeypatch.setenv("MPLBACKEND", "agg")
    monkeypatch.chdir(path.parent)
    names: dict[str, object] = {"__name__": "__main__"}
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    for number, cell in enumerate(cells):
        exec(compile(cell.source, f"{path.name}, code cell {number}", "exec"), names)
    assert any("assert " in cell.source for cell in cells)
    if path.stem == "tabular":
        printed = capsys.readouterr().out
        assert "the same 378 verdicts and answers" in printed
        assert not device or "without scikit-learn and ONNX Runtime" in printed
