"""Multiply-accumulates of models: known ones, and none where something is not counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from edgemon.compiler.models.graph import Graph, Operator, Tensor
from edgemon.compiler.models.macs import macs
from edgemon.compiler.models.tflite_graph import read_graph


def graph_of(name: str, output: tuple[int, ...], weights: tuple[int, ...]) -> Graph:
    """One operator with weights, and a softmax."""
    tensors = [
        Tensor(0, "x", (1, 9), "int8"),
        Tensor(1, "weights", weights, "int8", constant=True),
        Tensor(2, "y", output, "int8"),
    ]
    operators = (Operator(name, (0, 1), (2,)), Operator("SOFTMAX", (2,), (2,)))
    return Graph((0,), (2,), tuple(tensors), operators)


@pytest.mark.parametrize(
    ("name", "output", "weights", "count"),
    [
        ("FULLY_CONNECTED", (1, 10), (10, 64), 640),
        ("CONV_2D", (1, 8, 8, 16), (16, 3, 3, 4), 8 * 8 * 16 * 36),
        ("DEPTHWISE_CONV_2D", (1, 8, 8, 16), (1, 3, 3, 16), 8 * 8 * 16 * 9),
        ("CONV_2D", (-1, 8, 8, 16), (16, 1, 1, 4), 8 * 8 * 16 * 4),  # any number of images
    ],
)
def test_by_hand(name: str, output: tuple[int, ...], weights: tuple[int, ...], count: int) -> None:
    assert macs(graph_of(name, output, weights)) == count


def test_what_is_not_counted_gives_no_number() -> None:
    own = graph_of("FULLY_CONNECTED", (1, 10), (10, 64))
    lstm = Operator("UNIDIRECTIONAL_SEQUENCE_LSTM", (0,), (2,))
    assert macs(replace(own, operators=(*own.operators, lstm))) is None
    assert macs(graph_of("CONV_2D", (1, -1, 8, 16), (16, 1, 1, 4))) is None
    assert macs(graph_of("CONV_2D", (1, 8, 8, 16), ())) is None
    assert macs(replace(own, operators=own.operators[1:])) is None


def test_resnet8_of_mlperf_tiny(shared: Path) -> None:
    """12.5 million, as its authors say."""
    model = shared / "data" / "images" / "models" / "mlperf_tiny_resnet8_int8.tflite"
    found = macs(read_graph(model.read_bytes()))
    assert found is not None
    assert round(found / 1e6, 1) == 12.5
