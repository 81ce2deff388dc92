"""The dense layers of a classifier with their weights as reals, for analyses of what it learned."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from edgemon.compiler.models.graph import Graph, Operator, Tensor
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.roles import activation_name, dense_output, is_dense

Reals = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DenseLayer:
    """``activation(x @ kernel + bias)`` of the flat ``input_tensor``.

    ``kernel`` is (n_in, n_out) and ``bias`` (n_out,), dequantised where the model is quantised.
    ``activation`` has Keras's name, "linear" where there is none; ``output_tensor`` lies behind it.
    """

    name: str
    kernel: Reals
    bias: Reals
    activation: str
    input_tensor: Tensor
    output_tensor: Tensor


def dense_layers(model: Model) -> tuple[DenseLayer, ...]:
    """In the order of computation. Left out: layers whose weights are computed, sparse or packed
    into less than a byte, and layers that are applied at several positions of a sequence."""
    graph = model.graph
    found = []
    for op in graph.operators:
        data = graph.data_input(op)
        if data is None or not op.outputs or not is_dense(graph, op):
            continue
        before = dense_output(graph, op)
        last = graph.producer(before) or op
        weights = model.dense_weights(op, None if last is op else last)
        if weights is None or weights[0].shape[0] != graph.tensors[data].length:
            continue
        activation, after = _activation(graph, last, before)
        name, tensor = graph.tensors[before].name, graph.tensors[data]
        found.append(DenseLayer(name, *weights, activation, tensor, graph.tensors[after]))
    return tuple(found)


def _activation(graph: Graph, last: Operator, before: int) -> tuple[str, int]:
    """The activation function that follows, and the tensor behind it."""
    if last.activation != "none":
        return last.activation, before
    after = graph.consumers(before)
    name = activation_name(after[0]) if len(after) == 1 else None
    return ("linear", before) if name is None else (name, after[0].outputs[0])
