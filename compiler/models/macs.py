"""Multiply-accumulates of a model's inference: what it costs, whatever runs it."""

from __future__ import annotations

from math import prod

from edgemon.compiler.models.graph import Graph, Operator

# Axes of the weights that each element of the output is summed over; weights are input 1.
SUMMED_AXES = {
    "CONV_2D": (1, 2, 3),  # [out, height, width, in]
    "DEPTHWISE_CONV_2D": (1, 2),  # [1, height, width, out]
    "FULLY_CONNECTED": (-1,),  # [out, in]
}
# Operators that multiply by weights, and that nobody counts here.
UNCOUNTED = (
    "BATCH_MATMUL", "CONV_3D", "TRANSPOSE_CONV", "LSTM", "RNN", "SVDF", "CUSTOM", "WHILE", "IF",
)  # fmt: skip


def macs(graph: Graph) -> int | None:
    """Of a TFLite graph, for one image. None where an operator is not counted here, or a shape is
    open: a number that leaves something out would make everything beside it look dear."""
    total = 0
    for operator in graph.operators:
        if any(word in operator.name for word in UNCOUNTED):
            return None
        if operator.name in SUMMED_AXES:
            found = _of(graph, operator)
            if found is None:
                return None
            total += found
    return total or None


def _of(graph: Graph, operator: Operator) -> int | None:
    output = graph.tensors[operator.outputs[0]].shape
    weights = graph.tensors[operator.inputs[1]].shape
    axes = SUMMED_AXES[operator.name]
    if len(weights) <= max(axes) or not weights:
        return None
    sizes = (*(abs(n) if i == 0 else n for i, n in enumerate(output)), *weights)
    if any(n <= 0 for n in sizes):
        return None
    return prod(abs(n) for n in output) * prod(weights[axis] for axis in axes)
