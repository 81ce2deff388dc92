"""Which output of a classifier holds its class scores, and what those scores are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models.graph import Graph, Tensor
from edgemon.compiler.models.roles import Role, has_role, seen_through

Reals = npt.NDArray[np.float64]

LABELS = ("int64", "int32", "string", "bool")  # dtypes of a label
SCORES = ("float32", "float64", "float16", "int8", "uint8", "int16")
MOST_SHOWN = 12
SUM_SLACK = 1e-3  # by which a sum of probabilities may miss 1

LOGITS, PROBABILITIES, UNKNOWN = "logits", "probabilities", "unknown"


def choose(graph: Graph, wanted: str = "") -> int | None:
    """Index of the tensor with the class scores; None where that cannot be told.

    ``wanted``: its name, or an end of it that no other tensor has. Else it is the only output, or
    the only one of scores where the others are labels; a map of probabilities (ZipMap) and a label
    stand for the scores that they are made of. Raises ModelError for a name that fits none.
    """
    if wanted:
        return _scores_behind(graph, _named(graph, wanted).index)
    if len(graph.outputs) == 1:
        return _scores_behind(graph, graph.outputs[0])
    scores = {_scores_behind(graph, i) for i in graph.outputs if not is_label(graph, i)}
    return scores.pop() if len(scores) == 1 and _is_scores(graph, max(scores)) else None


def shown(tensors: Sequence[Tensor]) -> str:
    """Names with dtype and shape, for a message."""
    more = f" and {len(tensors) - MOST_SHOWN} more" if len(tensors) > MOST_SHOWN else ""
    return ", ".join(map(_shown, tensors[:MOST_SHOWN])) + more


def kind_of(graph: Graph) -> str:
    """Are the first output's values logits or probabilities, as far as its operators tell?"""
    op = graph.producer(seen_through(graph, graph.outputs[0]))
    if op is None:
        return UNKNOWN
    if op.name in ("LogSoftmax", "LOG_SOFTMAX"):
        return LOGITS
    if has_role(op, Role.SQUASHING) or op.activation in ("softmax", "sigmoid", "l1"):
        return PROBABILITIES
    linear = has_role(op, Role.WEIGHTED) or op.name == "LinearClassifier"
    return LOGITS if linear and op.activation == "none" else UNKNOWN


def kind_of_values(kind: str, values: Reals, step: float = 0.0) -> str:
    """What rows (n, length) of the output say of its kind: several numbers that are never negative
    and always sum to 1 are probabilities, and so are others from 0 to 1 if the operators say so
    (one sigmoid a class) or if there is one number alone. ``step``: between two codes of a
    quantised output."""
    if not len(values):
        return kind
    if values.shape[1] > 1 and _sum_to_one(values, step):
        return PROBABILITIES
    within = bool((values >= 0).all() and (values <= 1).all())
    alone = values.shape[1] == 1 or kind == PROBABILITIES
    return PROBABILITIES if alone and within else LOGITS


def _sum_to_one(values: Reals, step: float) -> bool:
    """To the precision of float32 sums, or of a half code a value."""
    found = values[np.isfinite(values).all(axis=1)]
    slack = SUM_SLACK + step * found.shape[1] / 2
    return bool(len(found) and found.min() >= 0 and np.abs(found.sum(axis=1) - 1).max() <= slack)


def _scores_behind(graph: Graph, index: int) -> int:
    """The scores that a label or a map of probabilities is made of; else the tensor itself."""
    at = index
    while (op := graph.producer(at)) is not None:
        if op.name == "ZipMap" or (is_label(graph, at) and has_role(op, Role.SAME_VALUE)):
            at = op.inputs[0]
        elif op.name == "ArrayFeatureExtractor" and is_label(graph, at):
            at = op.inputs[1]
        elif op.name in ("ArgMax", "ARG_MAX"):
            return op.inputs[0]
        elif has_role(op, Role.CLASSIFIER) and at == op.outputs[0] and len(op.outputs) > 1:
            return op.outputs[1]
        else:
            break
    return index if is_label(graph, at) else at


def is_label(graph: Graph, index: int) -> bool:
    """Is a tensor of a label's type?"""
    return graph.tensors[index].dtype in LABELS


def _is_scores(graph: Graph, index: int) -> bool:
    tensor = graph.tensors[index]
    return tensor.dtype in SCORES and len(tensor.long_axes) <= 1


def _named(graph: Graph, text: str) -> Tensor:
    found = [t for t in graph.tensors if t.name == text]
    found = found or [t for t in graph.tensors if not t.constant and t.name.endswith(text)]
    if len(found) == 1:
        return found[0]
    problem = "no tensor has this name" if not found else f"{len(found)} tensors end so"
    fitting = [
        t for t in graph.tensors
        if not t.constant and _is_scores(graph, t.index) and t.index not in graph.inputs
    ]  # fmt: skip
    raise ModelError(
        f"--output {text}: {problem}; there are {shown(found or fitting) or 'none that fits'}"
    )


def _shown(tensor: Tensor) -> str:
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    return f"{tensor.name!r} ({tensor.dtype} {shape})"
