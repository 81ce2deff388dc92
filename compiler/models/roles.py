"""What an operator does for a classifier, whatever its file format calls it.

TFLite writes ``FULLY_CONNECTED``, ONNX ``Gemm``: no name means two things, so one table does.
"""

from __future__ import annotations

from enum import Flag, auto

from edgemon.compiler.models.graph import Graph, Operator


class Role(Flag):
    """An operator may have several."""

    NONE = 0
    SAME_VALUE = auto()  # only moves a value, or writes it down in another way
    SQUASHING = auto()  # makes probabilities of logits
    ACTIVATION = auto()
    DENSE = auto()  # a matrix times the data, bias included or not
    WEIGHTED = auto()  # makes logits of features: dense, convolution
    BIAS = auto()  # element by element with a constant: a bias, or a scaling
    AVERAGE_POOL = auto()
    CLASSIFIER = auto()  # a whole classifier in one operator: scores of features
    NORMALISING = auto()  # divides scores by their sum


_OPERATORS = {
    Role.SAME_VALUE: (
        "RESHAPE SQUEEZE EXPAND_DIMS QUANTIZE DEQUANTIZE CAST "
        "Reshape Flatten Squeeze Unsqueeze Identity Dropout QuantizeLinear DequantizeLinear Cast"
    ),
    Role.SQUASHING: "SOFTMAX LOGISTIC LOG_SOFTMAX Softmax Sigmoid LogSoftmax",
    Role.DENSE: "FULLY_CONNECTED Gemm MatMul QGemm QLinearMatMul",
    Role.WEIGHTED: (
        "FULLY_CONNECTED CONV_2D BATCH_MATMUL "
        "Gemm MatMul Conv QGemm QLinearMatMul QLinearConv ConvInteger"
    ),
    Role.BIAS: "ADD SUB MUL Add Sub Mul",
    Role.CLASSIFIER: "LinearClassifier SVMClassifier TreeEnsembleClassifier",
    Role.NORMALISING: "Normalizer",
    Role.AVERAGE_POOL: "AVERAGE_POOL_2D MEAN GlobalAveragePool AveragePool ReduceMean",
}

# Activation functions by the name that Keras gives them.
_ACTIVATIONS = {
    "RELU": "relu", "RELU6": "relu6", "RELU_N1_TO_1": "relu_n1_to_1", "RELU_0_TO_1": "relu_0_to_1",
    "PRELU": "prelu", "LEAKY_RELU": "leaky_relu", "ELU": "elu", "GELU": "gelu", "TANH": "tanh",
    "LOGISTIC": "sigmoid", "HARD_SWISH": "hard_swish",
    "Relu": "relu", "PRelu": "prelu", "LeakyRelu": "leaky_relu",
    "ThresholdedRelu": "thresholded_relu",
    "Clip": "clip", "Elu": "elu", "Selu": "selu", "Celu": "celu", "Gelu": "gelu", "Tanh": "tanh",
    "Sigmoid": "sigmoid", "HardSigmoid": "hard_sigmoid", "HardSwish": "hard_swish",
    "Softplus": "softplus", "Softsign": "softsign", "Mish": "mish",
}  # fmt: skip
_NORMALISED = {
    "SOFTMAX": "softmax", "LOG_SOFTMAX": "log_softmax",
    "Softmax": "softmax", "LogSoftmax": "log_softmax",
}  # fmt: skip


def _roles() -> dict[str, Role]:
    found = dict.fromkeys(_ACTIVATIONS, Role.ACTIVATION)
    for role, names in _OPERATORS.items():
        for name in names.split():
            found[name] = found.get(name, Role.NONE) | role
    return found


_ROLES = _roles()


def has_role(operator: Operator | None, role: Role) -> bool:
    """Does it have any of these roles? False where there is no operator."""
    return operator is not None and bool(_ROLES.get(operator.name, Role.NONE) & role)


def activation_name(operator: Operator) -> str | None:
    """ "relu", "sigmoid", "softmax", ... of an operator that is an activation function."""
    return _ACTIVATIONS.get(operator.name) or _NORMALISED.get(operator.name)


def only_bias(graph: Graph, operator: Operator | None) -> bool:
    """Does it add a constant to (or scale by one) what another operator computed?"""
    return (
        has_role(operator, Role.BIAS) and operator is not None and _constants(graph, operator) == 1
    )


def seen_through(graph: Graph, index: int, *, through_bias: bool = False) -> int:
    """The tensor that ``index`` is, seen through operators that keep its value."""
    while (op := graph.producer(index)) is not None:
        if not has_role(op, Role.SAME_VALUE) and not (through_bias and only_bias(graph, op)):
            break
        before = graph.data_input(op)
        if before is None:
            break
        index = before
    return index


def is_dense(graph: Graph, operator: Operator) -> bool:
    """A matrix of weights times the data; not the product of two computed matrices."""
    return has_role(operator, Role.DENSE) and _constants(graph, operator) > 0


def dense_output(graph: Graph, operator: Operator) -> int:
    """The tensor that a dense layer computes: its bias may be added by an operator of its own."""
    index = operator.outputs[0]
    after = graph.consumers(index)
    if len(operator.inputs) > 2 or operator.activation != "none" or len(after) != 1:
        return index
    added = after[0].name in ("Add", "ADD") and only_bias(graph, after[0])
    return after[0].outputs[0] if added else index


def _constants(graph: Graph, operator: Operator) -> int:
    return sum(graph.tensors[i].constant for i in operator.inputs if i >= 0)
