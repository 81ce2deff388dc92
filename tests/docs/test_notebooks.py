"""The notebooks of the documents run from top to bottom; they are kept without outputs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.runtime.test_device_environments import VARIABLE

nbformat = pytest.importorskip("nbformat", reason="pip install 'edgemon[notebook]'")
nbclient = pytest.importorskip("nbclient", reason="pip install 'edgemon[notebook]'")
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
TIMEOUT_S = 600  # of a cell


def test_there_are_notebooks() -> None:
    assert {p.stem for p in NOTEBOOKS} >= {"tabular", "images", "operating_points"}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_no_output_is_kept(path: Path) -> None:
    for cell in nbformat.read(path, as_version=4).cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    device = os.environ.get(VARIABLE, "").split(":")[0]
    if device:
        monkeypatch.setenv("DEVICE_PYTHON", device)
    notebook = nbformat.read(path, as_version=4)
    where = {"metadata": {"path": str(path.parent)}}
    nbclient.NotebookClient(notebook, timeout=TIMEOUT_S, resources=where).execute()
    if path.stem == "tabular" and device:
        printed = [o.text for c in notebook.cells for o in c.get("outputs", ()) if "text" in o]
        assert "without scikit-learn and ONNX Runtime" in "".join(printed)
