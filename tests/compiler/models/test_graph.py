from __future__ import annotations

from edgemon.compiler.models.graph import Graph, Operator, Tensor

TENSORS = tuple(
    Tensor(i, n, s, "float32", constant=n == "weights")
    for i, (n, s) in enumerate(
        {"x": (1, 1, 4), "weights": (3, 4), "y": (1, 3), "z": (1, 3)}.items()
    )
)
DENSE = Operator("FULLY_CONNECTED", (1, 0, -1), (2,))
GRAPH = Graph((0,), (3,), TENSORS, (DENSE, Operator("SOFTMAX", (2,), (3,))))


def test_producer_and_consumers() -> None:
    assert GRAPH.producer(2) is DENSE
    assert GRAPH.producer(0) is None
    assert [op.name for op in GRAPH.consumers(2)] == ["SOFTMAX"]
    assert GRAPH.consumers(3) == ()


def test_data_input_passes_over_weights_and_absent_inputs() -> None:
    assert GRAPH.data_input(DENSE) == 0


def test_length_counts_elements_and_long_axes_lack_ones() -> None:
    assert TENSORS[0].length == 4
    assert TENSORS[0].long_axes == (4,)
