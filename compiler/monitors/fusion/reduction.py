"""Novelty signals that fit: smaller forms of those whose tables a fusion has no room for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.monitors.estimator import MonitorEstimator
from edgemon.compiler.recording.recording import Recording

OVERHEAD = 768  # bytes of a signal beside its tables: nodes, and the evaluation itself


@dataclass(frozen=True, eq=False)
class Form:
    """A signal, and the form in which it is taken."""

    whole: MonitorEstimator
    taken: MonitorEstimator
    whole_bytes: int  # at least

    @property
    def reduced(self) -> bool:
        return self.taken is not self.whole

    def said(self, kilobytes: float) -> str:
        """Why it is not whole; ``kilobytes``: what all may take."""
        return (
            f"reduced to {self.taken.stored_as}, so that novelty signals fit in {kilobytes:g} kB "
            f"({self.whole.stored_as} would take {self.whole_bytes / KILOBYTE:,.1f} kB alone); "
            "give more (--budget-kb)"
        )


def forms(
    members: Sequence[MonitorEstimator], recording: Recording, kilobytes: float
) -> list[Form]:
    """Each member in the largest form in which all fit together, by ``least_bytes``: as long as
    they do not, the largest becomes smaller. Those that fit in no form stay whole, and are not
    counted."""
    most = kilobytes * KILOBYTE
    sizes = {m: _size(m, recording) for m in members}
    taken = {m: m for m in members}
    counted = {m for m in members if _size(_smallest(m, recording), recording) <= most}
    now = {m: sizes[m] for m in members if m in counted}
    while sum(now.values()) > most:
        for member in sorted(now, key=lambda m: -now[m]):
            smaller = taken[member].smaller(recording)
            if smaller is not None:
                taken[member], now[member] = smaller, _size(smaller, recording)
                break
        else:
            break
    return [Form(m, taken[m], sizes[m]) for m in members]


def _smallest(member: MonitorEstimator, recording: Recording) -> MonitorEstimator:
    while (smaller := member.smaller(recording)) is not None:
        member = smaller
    return member


def _size(member: MonitorEstimator, recording: Recording) -> int:
    return member.least_bytes(recording) + OVERHEAD
