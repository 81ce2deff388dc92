"""Which tensors each monitor reads: its defaults, or what ``--taps`` says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from edgemon.compiler.errors import CompileError
from edgemon.compiler.left_out import LeftOut
from edgemon.compiler.models import tap_rules
from edgemon.compiler.models.companion import CompanionModel, in_view, lacking, read_companion
from edgemon.compiler.models.graph import Tensor
from edgemon.compiler.models.model import Model
from edgemon.compiler.monitors import AUTO, MonitorEstimator
from edgemon.compiler.taps.unknown import unknown
from edgemon.runtime.errors import InputError
from edgemon.runtime.mirror import width_axis
from edgemon.runtime.preprocess import Preprocess
from edgemon.runtime.views import COMPANION, MIRROR, PLAIN, SUFFIXES


def assign_taps(
    model: Model, estimators: Sequence[MonitorEstimator], text: str, preprocess: Preprocess,
    left_out: list[LeftOut] | None = None, companion: Path | None = None,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Give each estimator its taps, and members of fusions theirs; returns all tensors to tap, the
    model's output first. ``left_out`` gets the defaults that this model cannot give.
    ``companion``: a file for the taps of the view *companion*. Raises CompileError for taps of a
    mirrored image that is none, and of a companion that nobody brings."""
    companions = _companions(model, estimators, preprocess, companion)
    analysed = [(e, _analysed(e, model)) for e in estimators]
    analysed += [(m, _analysed(m, model)) for e in estimators for m in e.members]
    readers = [pair for pair in analysed if not pair[0].learns_from_held_out]
    fusions = [name for e in estimators if e.members for name in (AUTO, e.kind)]
    own = _chosen([e for e, _ in readers], text, fusions)
    graph = model.graph
    wanted = [graph.tensors[graph.outputs[0]]]
    for estimator, rules in readers:
        chosen = own.get(estimator.kind, [])
        of_rules = {
            rule: _resolve(model, companions, rule, optional=not chosen and len(rules) > 1)
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


def _chosen(
    estimators: Sequence[MonitorEstimator], text: str, fusions: Sequence[str]
) -> dict[str, list[str]]:
    """What ``--taps`` says: rules and names, by monitor."""
    own: dict[str, list[str]] = {}
    kinds = list(dict.fromkeys(e.kind for e in estimators))
    for part in filter(None, (p.strip() for p in text.split(","))):
        monitor, separator, rules = part.rpartition("=")
        if separator and monitor not in kinds:
            raise unknown(part, monitor, kinds, fusions)
        readers = [monitor] if separator else [e.kind for e in estimators if e.reads_layers]
        if not readers:
            names = " or ".join(f"{kind}={rules}" for kind in kinds)
            raise CompileError(f"--taps {part}: no monitor here reads layers; write {names}")
        for kind in dict.fromkeys(readers):
            own.setdefault(kind, []).extend(rules.split("+"))
    return own


def _companions(
    model: Model, estimators: Sequence[MonitorEstimator], preprocess: Preprocess, given: Path | None
) -> dict[str, CompanionModel]:
    """By view: what estimators bring, and what the user gives."""
    found: dict[str, CompanionModel] = {}
    if given is not None:
        found[COMPANION] = read_companion(given, model)
    for estimator in (*estimators, *(m for e in estimators for m in e.members)):
        content = estimator.companion(model, preprocess)
        if content is None:
            continue
        view, source = estimator.companion_view, f"the companion of the monitor {estimator.kind}"
        if view not in found:
            found[view] = CompanionModel.of(content, view, model, source)
        elif found[view].content != content:
            raise CompileError(
                f"monitor {estimator.kind!r} brings another companion than {found[view].source}, "
                f"and an artifact has one for {SUFFIXES[view]}: compile them apart"
            )
    for estimator in estimators:
        if estimator.companion_source and estimator.companion_view not in found:
            raise CompileError(
                f"monitor {estimator.kind!r} needs a companion model, "
                f"{estimator.companion_source}: give its file with --companion"
            )
    return found


def _resolve(
    model: Model, companions: Mapping[str, CompanionModel], rule: str, *, optional: bool
) -> tuple[Tensor, ...]:
    """The tensors of a rule or name; of an optional rule (one default of several) perhaps none."""
    plain, view = tap_rules.without_view(rule)
    if view == COMPANION:
        if view not in companions:
            raise lacking(view)
        return companions[view].tensors(plain)
    if view != PLAIN:
        return in_view(_resolve(model, {}, plain, optional=optional), view, companions)
    named = any(t.name == rule for t in model.graph.tensors)
    if optional and not named:
        return tap_rules.suggest(model.graph).get(rule, ())
    return tap_rules.choose(model.graph, rule)
