"""Signals that fit: smaller forms of those whose tables a fusion has no room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.recording.recording import Recording

OVERHEAD = 768  # bytes of a signal beside its tables: nodes, and the evaluation itself
STEPS_KB = 1.1  # of a fusion, for each of its signals and for the stack


@dataclass(frozen=True, eq=False)
class Form:
    """A signal, and the form in which it is taken."""

    whole: MonitorEstimator
    taken: MonitorEstimator
    size: int  # of what is taken, in bytes, at least
    why: str = ""  # it is not whole


def all_forms(
    signals: Sequence[MonitorEstimator], novelty: Sequence[MonitorEstimator], recording: Recording,
    kilobytes: float, of_novelty: float,
) -> list[Form]:  # fmt: skip
    """Of novelty signals the forms that fit together in ``of_novelty`` of the ``kilobytes``, of
    each other signal the one that fits beside these."""
    new = forms(novelty, recording, of_novelty)
    taken = sum(f.size for f in new if f.size <= of_novelty * KILOBYTE) / KILOBYTE
    rest = kilobytes - taken - STEPS_KB * (len(new) + 2)
    return [*(form for signal in signals for form in forms([signal], recording, rest)), *new]


def forms(
    members: Sequence[MonitorEstimator], recording: Recording, kilobytes: float
) -> list[Form]:
    """Each member in the largest form in which all fit together, by ``least_bytes``: as long as
    they do not, the largest becomes smaller. Those that fit in no form stay whole, and are not
    counted."""
    most = kilobytes * KILOBYTE
    sizes = {m: _size(m, recording) for m in members}
    taken = {m: m for m in members}
    counted = {m for m in members if _size(smallest(m, recording), recording) <= most}
    now = {m: sizes[m] for m in members if m in counted}
    while sum(now.values()) > most:
        for member in sorted(now, key=lambda m: -now[m]):
            smaller = taken[member].smaller(recording)
            if smaller is not None:
                taken[member], now[member] = smaller, _size(smaller, recording)
                break
        else:
            break
    return [
        Form(m, taken[m], now.get(m, sizes[m]), _why(m, taken[m], sizes[m], kilobytes))
        for m in members
    ]


def _why(whole: MonitorEstimator, taken: MonitorEstimator, size: int, kilobytes: float) -> str:
    """Why a signal is not whole; "" of one that is."""
    if taken is whole:
        return ""
    return (
        f"reduced to {taken.stored_as}, so that it fits where there are {kilobytes:.3g} kB "
        f"({whole.stored_as} would take {size / KILOBYTE:,.1f} kB alone); give more (--budget-kb)"
    )


def smallest(member: MonitorEstimator, recording: Recording) -> MonitorEstimator:
    """Its form with the fewest bytes."""
    while (smaller := member.smaller(recording)) is not None:
        member = smaller
    return member


def _size(member: MonitorEstimator, recording: Recording) -> int:
    return member.least_bytes(recording) + OVERHEAD
