"""Taps that change what the model answers are given up, and others tried in their place.

A runtime that fuses operators computes otherwise where a tensor between them is wanted. What a rule
chose may give way; what the user named may not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from edgemon.compiler.errors import CompileError, ParityError
from edgemon.compiler.left_out import LeftOut
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.outputs import PROBABILITIES
from edgemon.compiler.models.roles import Role, data_operand, has_role
from edgemon.compiler.models.tap_rules import as_stored, obstacle, suggest, tap_of
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.runtime.views import COMPANION

Moves = dict[Tensor, Tensor | None]  # what is read in place of a tensor; None: nothing


def settle(
    model: Model, chosen: Sequence[Tensor], changed: Callable[[Sequence[Tensor]], int]
) -> Moves:
    """What is read in place of each tensor that rules chose, the model's output first.

    ``changed`` counts the rows of a sample on which the model with these taps gives other outputs
    than without. Empty if the choice changes none; else tensors join one by one, or another with
    the same values does, or none.
    """
    if not changed(chosen):
        return {}
    output, *others = chosen
    taken, moves = [output], Moves()
    for tensor in others:
        found = next(
            (t for t in (tensor, *_alternatives(model, tensor))
             if t in taken or _costs_nothing(model, t) or not changed([*taken, t])), None,
        )  # fmt: skip
        if found is not None and found not in taken:
            taken.append(found)
        if found != tensor:
            moves[tensor] = found
    return moves


def follow(
    estimators: Sequence[MonitorEstimator], moves: Mapping[Tensor, Tensor | None],
    left_out: list[LeftOut],
) -> None:  # fmt: skip
    """Let the estimators read what is read in place of their taps, and leave out the signals of
    fusions that lack too much. Raises ParityError for a monitor by itself that does."""
    names = {
        tap_of(old).name: None if new is None else tap_of(new).name for old, new in moves.items()
    }
    for estimator in estimators:
        if estimator.learns_from_held_out:
            estimator.without([m for m in estimator.members if not _moved(m, names, left_out)])
        elif not _moved(estimator, names, left_out):
            raise ParityError(
                f"monitor {estimator.kind!r}: to read {', '.join(estimator.taps)} changes the "
                "model's answers, and nothing with the same values can be read: name other layers "
                "with --taps"
            )


def _moved(
    estimator: MonitorEstimator, names: Mapping[str, str | None], left_out: list[LeftOut]
) -> bool:
    """Change an estimator's taps; False, and nothing changed, if it cannot do without one."""
    lost = [t for t in estimator.taps if t in names and names[t] is None]
    before = estimator.taps
    kept = (names.get(t, t) for t in before)
    estimator.set_params(taps=tuple(dict.fromkeys(t for t in kept if t is not None)))
    try:
        estimator.check_taps()
    except CompileError:
        estimator.set_params(taps=before)
        left_out.append(
            LeftOut(estimator.kind, f"to read {', '.join(lost)} changes the model's answers")
        )
        return False
    for tap in (t for t in before if t in names):
        instead = "nothing" if names[tap] is None else names[tap]
        left_out.append(
            LeftOut(
                estimator.kind,
                f"to read {tap} changes the model's answers; it reads {instead} in its place",
            )
        )
    return True


def _costs_nothing(model: Model, tensor: Tensor) -> bool:
    own = tensor.view != COMPANION
    return not own or tensor.index in (*model.graph.outputs, *model.graph.inputs)


def _alternatives(model: Model, tensor: Tensor) -> Iterator[Tensor]:
    """Tensors that say the same as one, and are no part of the same fused operator."""
    graph = model.graph
    after = graph.consumers(tensor.index)
    found = [as_stored(graph, tensor)]
    if len(after) == 1 and has_role(after[0], Role.SAME_VALUE | Role.ACTIVATION):
        behind = graph.tensors[after[0].outputs[0]]
        found += [as_stored(graph, behind), behind]
    op = graph.producer(tensor.index)
    if op is not None and has_role(op, Role.SAME_VALUE):
        before = data_operand(graph, op)
        found += [] if before is None else [graph.tensors[before]]
    is_logits = tensor.index in {t.index for t in suggest(graph).get("logits", ())}
    if is_logits and model.output_kind == PROBABILITIES:
        found.append(graph.tensors[graph.outputs[0]])
    for each in dict.fromkeys(found):
        if each.index != tensor.index and obstacle(graph, each) is None:
            yield replace(each, view=tensor.view, companion=tensor.companion)
