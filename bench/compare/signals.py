"""What each signal of a fusion is worth: alone, and to the fusion.

The gain of a signal is what the fusion loses when it is left out and the others are chosen and
weighed anew, on the same splits: of two that say the same, neither has a gain.
"""

from __future__ import annotations

import math

from edgemon.bench.compare.averages import average
from edgemon.bench.compare.fused import Fused
from edgemon.bench.compare.measures import CERTIFIED, Numbers
from edgemon.bench.compare.panel import Document, Learned, Panel
from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors import MonitorEstimator
from edgemon.compiler.reporter import Progress, unseen

GAINS = ("auroc", f"{CERTIFIED}.mcc", f"{CERTIFIED}.scod_mcc")


def signal_table(
    panel: Panel, fusion: MonitorEstimator, progress: Progress = unseen
) -> list[Document]:
    """A row each signal: bytes, the ``program`` to be timed, numbers alone, ``gains`` (None where
    no fusion is left without it), and in which share of the splits it was kept."""
    fused = panel.fused(fusion)
    whole = panel.learned(fused)
    found = []
    for position, (member, judge) in enumerate(zip(fusion.members_, fused.judges, strict=True)):
        program = judge.ranked or judge.program
        kept = [member.kind in names for names in whole.kept]
        found.append(
            {
                "signal": member.kind,
                "novelty": fusion.is_novelty(member),
                "kept": sum(kept) / len(kept),
                **panel.document(program, judge.scores, panel.numbers_of(judge)),
                "gains": _gains(panel, fused, position, whole),
            }
        )
        progress(position + 1, len(fusion.members_))
    return found


def _gains(panel: Panel, fused: Fused, position: int, whole: Learned) -> Document | None:
    try:
        rest = panel.learned(fused.without(position))
    except CompileError:
        return None
    first = 1 if panel.first_is_fixed and len(whole.numbers) > 1 else 0
    pairs = list(zip(whole.numbers[first:], rest.numbers[first:], strict=True))
    return average([_difference(one, other) for one, other in pairs], panel.options.seed)


def _difference(one: Numbers, other: Numbers) -> Numbers:
    """An MCC that is undefined counts as 0, as in means."""
    found: Numbers = {}
    for key in GAINS:
        values = one.get(key), other.get(key)
        if values[0] is not None and values[1] is not None:
            a, b = (0.0 if math.isnan(v) and key != "auroc" else v for v in values if v is not None)
            found[key] = a - b
    return found
