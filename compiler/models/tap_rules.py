"""Which tensors to monitor: by rule, or by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from difflib import get_close_matches

from edgemon.compiler.errors import ModelError
from edgemon.compiler.models.graph import Graph, Operator, Tensor
from edgemon.compiler.models.roles import (
    Role,
    data_operand,
    dense_output,
    has_role,
    is_dense,
    seen_through,
)
from edgemon.compiler.program.ir import Tap
from edgemon.runtime.views import MIRROR, PLAIN, SUFFIXES, split

DTYPES = ("int8", "uint8", "int16", "float32")
MAX_LENGTH = 1 << 20
DYNAMIC = "DynamicQuantizeLinear"


def suggest(graph: Graph) -> dict[str, tuple[Tensor, ...]]:
    """Tensors that a monitor can read, by rule; only rules that find something. The model's input
    is none of them, unless the classes are made of that and it is a table's row."""
    found = {}
    for rule, find in _RULES.items():
        tensors = tuple(
            t for t in (as_stored(graph, t) for t in find(graph))
            if obstacle(graph, t) is None
            and (t.index not in graph.inputs or (rule == "penultimate" and _is_row(t)))
        )  # fmt: skip
        if tensors:
            found[rule] = tensors
    return found


def as_stored(graph: Graph, tensor: Tensor) -> Tensor:
    """The codes that stand for a tensor between its ``QuantizeLinear`` and ``DequantizeLinear``: an
    output between an operator and these would break the fusion of the three into one, and change
    the model's answers. Else the tensor itself."""
    op, after = graph.producer(tensor.index), graph.consumers(tensor.index)
    found = tensor
    if op is not None and op.name == "DequantizeLinear":
        found = graph.tensors[op.inputs[0]]
    elif after and all(o.name == "QuantizeLinear" for o in after):
        found = graph.tensors[after[0].outputs[0]]
    outside = tensor.index in (*graph.inputs, *graph.outputs)
    return found if not outside and obstacle(graph, found) is None else tensor


def choose(graph: Graph, text: str) -> tuple[Tensor, ...]:
    """The tensors of a rule, or the one with this name or with a name that alone ends so; with
    ``@mirror`` behind it, as the mirrored image causes them.

    Raises ModelError for an unknown name, and for a tensor that monitors cannot read.
    """
    rest, view = without_view(text)
    if view == MIRROR:
        return tuple(replace(t, view=view) for t in choose(graph, rest))
    if text in _RULES:
        tensors = suggest(graph).get(text)
        if tensors is None:
            raise ModelError(
                f"taps: the rule {text!r} finds no tensor in this model; "
                f"rules that do: {', '.join(suggest(graph)) or 'none'}"
            )
        return tensors
    named = [t for t in graph.tensors if t.name == text]
    named = named or [t for t in graph.tensors if text and t.name.endswith(text)]
    if len(named) != 1:
        problem = "is not a tensor or a rule" if not named else f"fits {len(named)} tensors"
        candidates = named or [t for t in graph.tensors if obstacle(graph, t) is None]
        shown = ", ".join(repr(t.name) for t in candidates[:12])
        more = f" and {len(candidates) - 12} more" if len(candidates) > 12 else ""
        near = get_close_matches(text, [*suggest(graph), *(t.name for t in graph.tensors)], n=1)
        meant = f"; did you mean {near[0]!r}?" if near and not named else ""
        raise ModelError(
            f"taps: {text!r} {problem}{meant}; rules here: {', '.join(suggest(graph)) or 'none'}; "
            f"tensors: {shown}{more}"
        )
    problem_of = obstacle(graph, named[0])
    if problem_of is not None:
        raise ModelError(f"taps: tensor {named[0].name!r} {problem_of}")
    return (named[0],)


def without_view(text: str) -> tuple[str, str]:
    """The rule or name in front of ``@mirror`` or another suffix, and the view that this means.
    Raises ModelError if there is none in front of it, or one with a suffix already."""
    rest, view = split(text)
    if view != PLAIN and (not rest or split(rest)[1] != PLAIN):
        suffix = SUFFIXES[view]
        raise ModelError(
            f"taps: {text!r}: write one {suffix} behind a rule or the name of a tensor, as in "
            f"logits{suffix}"
        )
    return rest, view


WIDEST_INPUT = 256  # elements of a model's input that still make small tables


def _is_row(tensor: Tensor) -> bool:
    return tensor.length <= WIDEST_INPUT and len(tensor.long_axes) < 2


def narrow_input(graph: Graph) -> Tensor | None:
    """The model's input, if it is readable and narrow, as a table's row is."""
    return graph.tensors[graph.inputs[0]] if no_narrow_input(graph) is None else None


def no_narrow_input(graph: Graph) -> str | None:
    """Why there is no ``narrow_input``, as a sentence; None if there is one."""
    entry = graph.tensors[graph.inputs[0]]
    problem = obstacle(graph, entry)
    if problem is not None:
        return f"the model's input {problem}"
    if entry.length > WIDEST_INPUT:
        return (
            f"the model's input has {entry.length:,} elements, and tables for more than "
            f"{WIDEST_INPUT} would not stay small"
        )
    return None


def tap_of(tensor: Tensor) -> Tap:
    """The tensor as a tap: flat; an integer tensor without quantisation stands for itself."""
    problem = _unreadable(tensor)
    if problem is not None:
        raise ModelError(f"taps: tensor {tensor.name!r} {problem}")
    return as_tap(tensor)


def as_tap(tensor: Tensor) -> Tap:
    """The same without a check, for a tensor that no monitor reads."""
    if tensor.dtype == "float32" or not tensor.scale:
        return Tap(tensor.name, tensor.dtype, tensor.length, view=tensor.view)
    return Tap(
        tensor.name, tensor.dtype, tensor.length, tensor.scale, tensor.zero_point, tensor.view
    )


def obstacle(graph: Graph, tensor: Tensor) -> str | None:
    """Why a monitor cannot read this tensor, as the end of a sentence; None if it can."""
    if tensor.constant:
        return "is a constant (weights); choose a tensor that the model computes"
    op = graph.producer(tensor.index)
    if op is None and tensor.index not in graph.inputs:
        return "is not computed by any operator; choose one that is"
    if op is not None and op.name == DYNAMIC:
        return "is quantised anew for each image; choose the tensor in front of that"
    return _unreadable(tensor)


def _unreadable(tensor: Tensor) -> str | None:
    if tensor.variable:
        return "is state that the model keeps between images; choose another tensor"
    if tensor.dtype not in DTYPES:
        return f"is {tensor.dtype}; monitors read {', '.join(DTYPES)}"
    if any(n < 0 for n in tensor.shape):
        return f"has an open shape {tensor.shape}; monitors need a fixed one"
    if not 1 <= tensor.length <= MAX_LENGTH:
        return f"has {tensor.length} elements; monitors read 1 to {MAX_LENGTH}"
    if tensor.per_channel:
        return "is quantised by channel; monitors read tensors with one scale"
    return None


def head(graph: Graph) -> Operator | None:
    """The final SOFTMAX or LOGISTIC of a model with one output."""
    if len(graph.outputs) != 1:
        return None
    index = seen_through(graph, graph.outputs[0])
    op = graph.producer(seen_through(graph, _of_two(graph, index)))
    return op if has_role(op, Role.SQUASHING) else None


def _of_two(graph: Graph, index: int) -> int:
    """The probability p of which a tensor is (1 - p, p), as scikit-learn's networks of two classes
    end; else the tensor itself."""
    op = graph.producer(index)
    if op is None or op.name != "Concat" or len(op.inputs) != 2:
        return index
    rest, p = op.inputs
    less = graph.producer(rest)
    complement = less is not None and less.name == "Sub" and less.inputs[1] == p
    return (
        p if complement and less is not None and graph.tensors[less.inputs[0]].constant else index
    )


def _logits(graph: Graph) -> list[Tensor]:
    last = head(graph)
    if last is None:
        return [graph.tensors[graph.outputs[0]]] if len(graph.outputs) == 1 else []
    logits = graph.tensors[last.inputs[0]]
    # Where they cannot be read, the log-odds of the probabilities say the same.
    return [logits if obstacle(graph, logits) is None else graph.tensors[graph.outputs[0]]]


def _penultimate(graph: Graph) -> list[Tensor]:
    """What the scores are made of: the features in front of the last layer, or a table's row."""
    for logits in _logits(graph):
        op = graph.producer(seen_through(graph, logits.index, through_bias=True))
        if op is not None and has_role(op, Role.NORMALISING):
            op = graph.producer(seen_through(graph, op.inputs[0], through_bias=True))
        makes_scores = has_role(op, Role.WEIGHTED | Role.CLASSIFIER)
        before = data_operand(graph, op) if op is not None and makes_scores else None
        if before is not None:
            return [graph.tensors[_before_dynamic(graph, before)]]
    # Nothing stands between: neighbours, trees that another makes a vote of, densities of classes.
    entry = graph.tensors[graph.inputs[0]]
    return [entry] if _is_row(entry) else []


def _before_dynamic(graph: Graph, index: int) -> int:
    op = graph.producer(index)
    dynamic = op is not None and op.name == DYNAMIC
    return op.inputs[0] if op is not None and dynamic else index


def _pooled(graph: Graph) -> list[Tensor]:
    """Output of the last global average pooling."""
    found = (op for op in reversed(graph.operators) if _pools_all(graph, op))
    return [graph.tensors[op.outputs[0]] for op in found][:1]


def _pools_all(graph: Graph, op: Operator) -> bool:
    """Is it an average over all positions?"""
    if not has_role(op, Role.AVERAGE_POOL) or op.inputs[0] < 0:
        return False
    before, after = graph.tensors[op.inputs[0]], graph.tensors[op.outputs[0]]
    if len(before.shape) != 4 or after.long_axes == before.long_axes:
        return False
    return after.long_axes == (before.shape[graph.channel_axis],)


def means_of(graph: Graph, tensor: Tensor) -> str:
    """Name of the feature map of which this tensor has the channels' means, "" if of none."""
    op = graph.producer(tensor.index)
    while op is not None and has_role(op, Role.SAME_VALUE):
        op = graph.producer(op.inputs[0])
    return graph.tensors[op.inputs[0]].name if op is not None and _pools_all(graph, op) else ""


def _dense(graph: Graph) -> list[Tensor]:
    return [
        graph.tensors[dense_output(graph, op)]
        for op in graph.operators
        if op.outputs and is_dense(graph, op)
    ]


def _activations(graph: Graph) -> list[Tensor]:
    last = head(graph)
    return [
        graph.tensors[op.outputs[0]]
        for op in graph.operators
        if op is not last
        and op.outputs
        and (has_role(op, Role.ACTIVATION) or op.activation != "none")
        and not has_role(op, Role.CLASSIFIER | Role.NORMALISING)
    ]


def _middle(graph: Graph) -> list[Tensor]:
    """The feature map in the middle of the network, of two the later."""
    maps = [t for t in _activations(graph) if t.has_positions]
    return maps[(len(maps) + 1) // 2 :][:1] or maps[-1:]


def _last_map(graph: Graph) -> list[Tensor]:
    """The last feature map."""
    maps = [t for t in _activations(graph) if t.has_positions]
    return maps[-1:]


def _softmax(graph: Graph) -> list[Tensor]:
    last = head(graph)
    return [] if last is None else [graph.tensors[last.outputs[0]]]


_RULES: dict[str, Callable[[Graph], Iterable[Tensor]]] = {
    "output": lambda graph: [graph.tensors[i] for i in graph.outputs],
    "logits": _logits,
    "softmax": _softmax,
    "penultimate": _penultimate,
    "gap": _pooled,
    "dense": _dense,
    "activation": _activations,
    "middle": _middle,
    "last_map": _last_map,
}
RULES = tuple(_RULES)
