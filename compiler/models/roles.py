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
        "Reshape Flatten Squeeze Unsqueeze Identity Dropout Cast "
        "QuantizeLinear DequantizeLinear DynamicQuantizeLinear"
    ),
    Role.SQUASHING: (
        "SOFTMAX LOGISTIC LOG_SOFTMAX Softmax Sigmoid LogSoftmax QLinearSoftmax QLinearSigmoid"
    ),
    Role.DENSE: "FULLY_CONNECTED Gemm MatMul QGemm QLinearMatMul",
    Role.WEIGHTED: (
        "FULLY_CONNECTED CONV_2D BATCH_MATMUL "
        "Gemm MatMul Conv QGemm QLinearMatMul QLinearConv MatMulInteger ConvInteger"
    ),
    Role.BIAS: "ADD SUB MUL Add Sub Mul QLinearAdd QLinearMul",
    Role.CLASSIFIER: "LinearClassifier SVMClassifier TreeEnsembleClassifier",
    Role.NORMALISING: "Normalizer",
    Role.AVERAGE_POOL: (
        "AVERAGE_POOL_2D MEAN GlobalAveragePool AveragePool ReduceMean "
        "QLinearGlobalAveragePool QLinearAveragePool QLinearReduceMean"
    ),
}

# Operands of operators that have scales and zero points among their inputs.
_OPERANDS = {
    "QLinearMatMul": (0, 3), "QLinearAdd": (0, 3), "QLinearMul": (0, 3),
    "QGemm": (0, 3, 6), "QLinearConv": (0, 3, 8), "MatMulInteger": (0, 1), "ConvInteger": (0, 1),
    "QLinearSoftmax": (0,), "QLinearSigmoid": (0,), "QLinearLeakyRelu": (0,),
    "QLinearGlobalAveragePool": (0,), "QLinearAveragePool": (0,), "QLinearReduceMean": (0,),
    "QuantizeLinear": (0,), "DequantizeLinear": (0,),
}  # fmt: skip

# Activation functions by the name that Keras gives them.
_ACTIVATIONS = {
    "RELU": "relu", "RELU6": "relu6", "RELU_N1_TO_1": "relu_n1_to_1", "RELU_0_TO_1": "relu_0_to_1",
    "PRELU": "prelu", "LEAKY_RELU": "leaky_relu", "ELU": "elu", "GELU": "gelu", "TANH": "tanh",
    "LOGISTIC": "sigmoid", "HARD_SWISH": "hard_swish",
    "Relu": "relu", "PRelu": "prelu", "LeakyRelu": "leaky_relu",
    "ThresholdedRelu": "thresholded_relu",
    "Clip": "clip", "Elu": "elu", "Selu": "selu", "Celu": "celu", "Gelu": "gelu", "Tanh": "tanh",
    "Sigmoid": "sigmoid", "HardSigmoid": "hard_sigmoid", "HardSwish": "hard_swish",
    "QLinearSigmoid": "sigmoid", "QLinearLeakyRelu": "leaky_relu",
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
    """Does it add a constant to (or scale by one) what another operator computed? The scale of a
    tensor that is quantised anew for each image counts as one."""
    if operator is None or not has_role(operator, Role.BIAS):
        return False
    found = operands(operator)
    return len(found) == 2 and sum(_is_known(graph, i) for i in found) == 1


def seen_through(graph: Graph, index: int, *, through_bias: bool = False) -> int:
    """The tensor that ``index`` is, seen through operators that keep its value."""
    while (op := graph.producer(index)) is not None:
        if not has_role(op, Role.SAME_VALUE) and not (through_bias and only_bias(graph, op)):
            break
        before = data_operand(graph, op)
        if before is None:
            break
        index = before
    return index


def is_dense(graph: Graph, operator: Operator) -> bool:
    """A matrix of weights times the data; not the product of two computed matrices."""
    known = [_is_known(graph, i) for i in operands(operator)]
    return has_role(operator, Role.DENSE) and any(known)


def dense_output(graph: Graph, operator: Operator) -> int:
    """The tensor that a dense layer computes: its bias may be added by an operator of its own."""
    index = operator.outputs[0]
    after = graph.consumers(index)
    if len(operands(operator)) > 2 or operator.activation != "none" or len(after) != 1:
        return index
    added = after[0].name in ("Add", "ADD", "QLinearAdd") and only_bias(graph, after[0])
    return after[0].outputs[0] if added else index


def operands(operator: Operator) -> tuple[int, ...]:
    """The tensors that an operator computes with, without scales and zero points."""
    at = _OPERANDS.get(operator.name)
    found = (
        operator.inputs
        if at is None
        else [operator.inputs[i] for i in at if i < len(operator.inputs)]
    )
    return tuple(i for i in found if i >= 0)


def data_operand(graph: Graph, operator: Operator) -> int | None:
    """The first operand that is computed from the image."""
    return next((i for i in operands(operator) if not _is_known(graph, i)), None)


def _is_known(graph: Graph, index: int) -> bool:
    """A constant, or made of constants and of scales that ``DynamicQuantizeLinear`` finds."""
    if graph.tensors[index].constant:
        return True
    op = graph.producer(index)
    if op is None:
        return False
    if op.name == "DynamicQuantizeLinear":
        return index != op.outputs[0]
    return op.name in ("Mul", "Reshape") and all(_is_known(graph, i) for i in operands(op))
