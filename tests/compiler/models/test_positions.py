from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.models.onnx_model import OnnxModel
from edgemon.compiler.models.positions import feature_maps, image_of
from tests.tiny_onnx import write_conv_onnx, write_linear_onnx, write_tiny_onnx


@pytest.mark.parametrize("first", [False, True])
def test_channels_lie_side_by_side_or_behind_each_other(first: bool, tmp_path: Path) -> None:
    model = OnnxModel.open(write_conv_onnx(tmp_path / "c.onnx", first=first))
    assert image_of(model) == ("input", 4, 5, 1 if first else 2)
    assert [t.name for t in feature_maps(model.graph)] == ["features"]


def test_pixels_without_a_feature_map_are_an_image_and_a_row_is_none(tmp_path: Path) -> None:
    path = write_linear_onnx(tmp_path / "p.onnx", (1, 11, 8), np.ones((88, 3)), np.zeros(3))
    pixels = OnnxModel.open(path)
    assert image_of(pixels) == ("input", 11, 8, 1)
    table = OnnxModel.open(write_tiny_onnx(tmp_path / "t.onnx"))
    assert image_of(table) is None
    assert feature_maps(pixels.graph) == feature_maps(table.graph) == []
