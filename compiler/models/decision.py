"""Which class a classifier's output means.

Several scores mean the class of the largest. One output unit means class 1 above a threshold, and
which one depends on what the unit gives: a probability decides at one half, a logit at 0. The
model's last operator says it, or else the values that it was seen to give.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.documents import measured as schema
from edgemon.compiler.errors import CompileError
from edgemon.compiler.models.graph import Graph, Tensor
from edgemon.compiler.models.roles import Role, activation_name, has_role
from edgemon.compiler.program.ir import Tap

OF_PROBABILITY, OF_LOGIT = 0.5, 0.0
_TO_ONE = ("sigmoid", "hard_sigmoid", "softmax", "relu_0_to_1")  # give values from 0 to 1


@dataclass(frozen=True)
class Decision:
    """A single unit means class 1 where it is above ``threshold`` (strictly), ``because`` of what
    follows that word. ``seen``: is it known from values alone?"""

    threshold: float
    because: str
    seen: bool = False

    def to_json(self) -> schema.Decision:
        """Without what only the compiler needs."""
        return {"threshold": self.threshold, "because": self.because}

    def __str__(self) -> str:
        return (
            f"one output unit: class 1 where it is above {self.threshold:g}, else class 0, because "
            f"{self.because}"
        )


def predicted_class(scores: npt.NDArray[Any], output: Tap) -> npt.NDArray[np.intp]:
    """The class of each row of output codes, (..., length).

    Several scores: the position of the largest, the first on a tie. One score: 1 where its real
    value is above ``output.decides_above``, else 0. A code's real value is exact in float64, and so
    is the answer.
    """
    if output.length > 1:
        return np.asarray(scores.argmax(axis=-1))
    return (output.values(scores)[..., 0] > output.decides_above).astype(np.intp)


def of_graph(graph: Graph) -> Decision | None:
    """What the graph says of its only output unit: a sigmoid, or codes that reach from 0 to 1 at
    most; None if it leaves it open."""
    tensor = graph.tensors[graph.outputs[0]]
    low, high = _reach(tensor)
    if low >= 0 and high <= 1:
        return Decision(OF_PROBABILITY, f"its codes stand for {low:g} to {high:g}: a probability")
    operator = graph.producer(tensor.index)
    while operator is not None and has_role(operator, Role.SAME_VALUE):
        index = graph.data_input(operator)
        operator = None if index is None else graph.producer(index)
    if operator is None:
        return None
    name = operator.activation if operator.activation != "none" else activation_name(operator)
    if name in _TO_ONE:
        return Decision(OF_PROBABILITY, f"the model ends in a {name}: a probability")
    return None


def of_values(values: npt.NDArray[np.float64]) -> Decision:
    """What the unit's values (n,) say. Raises CompileError if none is finite."""
    found = values[np.isfinite(values)]
    if not len(found):
        raise CompileError("the model's one output unit gives a NaN or an infinity on all rows")
    low, high = float(found.min()), float(found.max())
    gives = f"it gives {low:.4g} to {high:.4g} and the model ends in no sigmoid"
    if low < 0 or high > 1:
        return Decision(OF_LOGIT, f"{gives}: taken for a logit (else --decision-threshold)", True)
    return Decision(
        OF_PROBABILITY, f"{gives}: taken for a probability (else --decision-threshold)", True
    )


def contradicted(decision: Decision, values: npt.NDArray[np.float64]) -> bool:
    """Was a unit taken for a probability that on more rows gives other values (n,)?"""
    found = values[np.isfinite(values)]
    return bool(
        decision.seen and decision.threshold == OF_PROBABILITY and ((found < 0) | (found > 1)).any()
    )


def _reach(tensor: Tensor) -> tuple[float, float]:
    """The least and the largest real value of the tensor's codes; without limits where it has no
    scale."""
    if not tensor.scale or tensor.dtype == "float32":
        return -np.inf, np.inf
    limits = np.iinfo(tensor.dtype)
    low, high = ((v - tensor.zero_point) * tensor.scale for v in (limits.min, limits.max))
    return float(low), float(high)
