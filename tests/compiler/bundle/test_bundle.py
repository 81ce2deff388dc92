"""An opened bundle: the model that runs is the one that was hashed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from edgemon.compiler.bundle.bundle import Bundle
from edgemon.runtime.errors import ArtifactError
from tests.tiny_tflite import write_tiny


def test_a_model_that_is_swapped_after_it_was_hashed_is_not_run(
    bundle: Path, tmp_path: Path
) -> None:
    """It was hashed at one time and opened by its path at another."""
    copy, scratch = tmp_path / "b", tmp_path / "scratch"
    shutil.copytree(bundle, copy)
    scratch.mkdir()
    opened = Bundle.open(copy)
    opened.require_intact()
    model = opened.model_in(scratch)
    assert model.path.parent == scratch
    assert model.path.read_bytes() == opened.model.path.read_bytes()
    write_tiny(opened.model.path)
    with pytest.raises(ArtifactError, match="is not the file that compile wrote"):
        opened.model_in(scratch)
