"""Which tensors each monitor reads: its defaults, or what ``--taps`` says."""

from __future__ import annotations

from collections.abc import Sequence

from edgemon.compiler.errors import CompileError
from edgemon.compiler.models import taps as tap_rules
from edgemon.compiler.models.base import Model
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.monitors import MonitorEstimator


def assign_taps(
    model: Model, estimators: Sequence[MonitorEstimator], text: str
) -> tuple[Tensor, ...]:
    """Give each estimator its taps; returns all tensors to tap, the model's output first."""
    own: dict[str, str] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        monitor, separator, rules = part.rpartition("=")
        if separator and monitor not in {e.kind for e in estimators}:
            raise CompileError(f"--taps {part}: {monitor!r} is not among the monitors")
        readers = [monitor] if separator else [e.kind for e in estimators if e.reads_layers]
        if not readers:
            names = " or ".join(f"{e.kind}={rules}" for e in estimators)
            raise CompileError(f"--taps {part}: no monitor here reads layers; write {names}")
        for kind in readers:
            own[kind] = "+".join(filter(None, (own.get(kind), rules)))
    graph = model.graph
    wanted = [graph.tensors[graph.outputs[0]]]
    for estimator in estimators:
        chosen = own[estimator.kind].split("+") if estimator.kind in own else []
        analysed = estimator.analyse(model)
        found = (
            tensor
            for rule in chosen or analysed
            for tensor in _resolve(model, rule, optional=not chosen and len(analysed) > 1)
        )
        tensors = list(dict.fromkeys(found))
        estimator.set_params(taps=tuple(tap_rules.tap_of(t).name for t in tensors))
        estimator.check_taps()
        wanted += [t for t in tensors if t not in wanted]
    return tuple(wanted)


def _resolve(model: Model, rule: str, *, optional: bool) -> tuple[Tensor, ...]:
    """The tensors of a rule or name; of an optional rule (one default of several) perhaps none."""
    if optional:
        return tap_rules.suggest(model.graph).get(rule, ())
    return tap_rules.choose(model.graph, rule)
