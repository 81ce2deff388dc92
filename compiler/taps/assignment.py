"""Which tensors each monitor reads: its defaults, or what ``--taps`` says."""

from __future__ import annotations

from collections.abc import Sequence

from edgemon.compiler.errors import CompileError
from edgemon.compiler.left_out import LeftOut
from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.runtime.errors import InputError
from edgemon.runtime.mirror import MIRROR, MIRRORED, width_axis
from edgemon.runtime.preprocess import Preprocess


def assign_taps(
    model: Model, estimators: Sequence[MonitorEstimator], text: str, preprocess: Preprocess,
    left_out: list[LeftOut] | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Give each estimator its taps, and members of fusions theirs; returns all tensors to tap, the
    model's output first. ``left_out`` gets the defaults that this model cannot give. Raises
    CompileError for taps of a mirrored image that is none."""
    analysed = [(e, _analysed(e, model)) for e in estimators]
    analysed += [(m, _analysed(m, model)) for e in estimators for m in e.members]
    readers = [pair for pair in analysed if not pair[0].learns_from_held_out]
    own = _chosen([e for e, _ in readers], text)
    graph = model.graph
    wanted = [graph.tensors[graph.outputs[0]]]
    for estimator, rules in readers:
        chosen = own.get(estimator.kind, [])
        of_rules = {
            rule: _resolve(model, rule, optional=not chosen and len(rules) > 1)
            for rule in chosen or rules
        }
        lacking = [rule for rule, found in of_rules.items() if not found]
        if lacking and left_out is not None:
            left_out.append(LeftOut(estimator.kind, _without(lacking)))
        tensors = list(dict.fromkeys(t for found in of_rules.values() for t in found))
        estimator.set_params(taps=tuple(tap_rules.tap_of(t).name for t in tensors))
        estimator.check_taps()
        wanted += [t for t in tensors if t not in wanted]
    for estimator in estimators:
        estimator.without(())
    _require_mirrorable(model, wanted, preprocess)
    return tuple(wanted)


def _analysed(estimator: MonitorEstimator, model: Model) -> tuple[str, ...]:
    """Let it have what it finds in the model; returns the taps that it would read."""
    found = estimator.analyse(model)
    estimator.set_params(**found.parameters)
    return found.taps


def _without(rules: Sequence[str]) -> str:
    return f"it does without {' and '.join(rules)}, of which this model has none that can be read"


def _require_mirrorable(model: Model, wanted: Sequence[Tensor], preprocess: Preprocess) -> None:
    names = [tap_rules.tap_of(t).name for t in wanted if t.view == MIRROR]
    if not names:
        return
    try:
        width_axis(model.input, preprocess)
    except InputError as error:
        raise CompileError(
            f"taps: {', '.join(names)} would need the mirrored image, but {error}"
        ) from None


def _chosen(estimators: Sequence[MonitorEstimator], text: str) -> dict[str, list[str]]:
    """What ``--taps`` says: rules and names, by monitor."""
    own: dict[str, list[str]] = {}
    kinds = list(dict.fromkeys(e.kind for e in estimators))
    for part in filter(None, (p.strip() for p in text.split(","))):
        monitor, separator, rules = part.rpartition("=")
        if separator and monitor not in kinds:
            raise CompileError(f"--taps {part}: {monitor!r} is not among the monitors")
        readers = [monitor] if separator else [e.kind for e in estimators if e.reads_layers]
        if not readers:
            names = " or ".join(f"{kind}={rules}" for kind in kinds)
            raise CompileError(f"--taps {part}: no monitor here reads layers; write {names}")
        for kind in dict.fromkeys(readers):
            own.setdefault(kind, []).extend(rules.split("+"))
    return own


def _resolve(model: Model, rule: str, *, optional: bool) -> tuple[Tensor, ...]:
    """The tensors of a rule or name; of an optional rule (one default of several) perhaps none."""
    if rule.endswith(MIRRORED):
        plain = _resolve(model, tap_rules.unmirrored(rule), optional=optional)
        return tap_rules.as_mirrored(plain)
    named = any(t.name == rule for t in model.graph.tensors)
    if optional and not named:
        return tap_rules.suggest(model.graph).get(rule, ())
    return tap_rules.choose(model.graph, rule)
