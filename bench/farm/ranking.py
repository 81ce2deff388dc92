"""Which monitors are better than others: ranks of the MCC over all sets, and over each kind.

An undefined MCC, of a monitor that never or always alarms, counts as 0 for ranks, and is counted.
Severities of one fault are correlated, so pairs are compared over means of each fault.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.farm.compiled import CERTIFIED, NATIVE
from edgemon.bench.farm.measures import ORACLES, OVERALL
from edgemon.compiler.statistics.ranks import Ranking, pairs

Document = dict[str, Any]
Floats = npt.NDArray[np.float64]
Key = tuple[str, str, int]  # case, fault, severity

HEADLINE = (OVERALL, CERTIFIED)
ROPE = 0.01  # of the MCC: less is no difference
EVERY = "all"


class Results:
    """Results by monitor and set."""

    def __init__(self, results: Sequence[Document]) -> None:
        self._found = {
            (r["monitor"], (r["case"], r["fault"], r["severity"]), r["oracle"]): r for r in results
        }
        self.kind_of = {(r["case"], r["fault"], r["severity"]): r["kind"] for r in results}
        self.sets: list[Key] = list(self.kind_of)
        every = dict.fromkeys(r["monitor"] for r in results)
        self.monitors = [m for m in every if all((m, s, OVERALL) in self._found for s in self.sets)]
        self.incomplete = [m for m in every if m not in self.monitors]  # in some case left out

    def with_threshold(self, threshold: str) -> list[str]:
        """The monitors that have it in every case."""
        if threshold == CERTIFIED:
            return self.monitors
        return [
            m for m in self.monitors
            if all(self._found[m, s, OVERALL][NATIVE] is not None for s in self.sets)
        ]  # fmt: skip

    def mcc(
        self, oracle: str, threshold: str, monitors: Sequence[str], sets: Sequence[Key]
    ) -> Floats:
        """(sets, monitors), NaN where undefined."""
        found = np.full((len(sets), len(monitors)), np.nan)
        for i, one in enumerate(sets):
            for j, monitor in enumerate(monitors):
                entry = self._found[monitor, one, oracle]
                value = (entry if threshold == CERTIFIED else entry[NATIVE])["mcc"]
                found[i, j] = np.nan if value is None else value
        return found

    def of_kind(self, kind: str) -> list[Key]:
        return [s for s in self.sets if kind in (EVERY, self.kind_of[s])]

    @property
    def kinds(self) -> list[str]:
        return list(dict.fromkeys(self.kind_of.values()))


def by_fault(values: Floats, sets: Sequence[Key]) -> tuple[list[tuple[str, str]], Floats]:
    """Means (faults, monitors) over the severities of each (case, fault), and these."""
    faults = list(dict.fromkeys((case, fault) for case, fault, _ in sets))
    of = np.array([faults.index((case, fault)) for case, fault, _ in sets])
    return faults, np.array([values[of == i].mean(axis=0) for i in range(len(faults))])


def rank(results: Results, oracle: str, threshold: str, kind: str = EVERY) -> Document | None:
    """Ranks of one oracle and kind of threshold over the sets of a kind, the best first; None
    without two monitors."""
    monitors, sets = results.with_threshold(threshold), results.of_kind(kind)
    if len(monitors) < 2 or not sets:
        return None
    raw = results.mcc(oracle, threshold, monitors, sets)
    found = Ranking.of(np.nan_to_num(raw))
    order = np.argsort(found.ranks, kind="stable")
    means = np.nan_to_num(raw).mean(axis=0)
    return {
        "oracle": oracle, "threshold": threshold, "kind": kind, "sets": len(sets),
        "faults": len(dict.fromkeys(s[:2] for s in sets)),
        "ranks": [
            {
                "monitor": monitors[i], "rank": found.ranks[i], "mcc": float(means[i]),
                "undefined": int(np.isnan(raw[:, i]).sum()),
            }
            for i in order
        ],
        "critical_difference": found.critical_difference,
        "friedman_chi2": found.chi2, "friedman_p": found.chi2_p,
        "iman_davenport_f": found.f, "iman_davenport_p": found.f_p,
        "differs": found.differs,
        "cliques": [[monitors[i] for i in clique] for clique in found.cliques],
    }  # fmt: skip


def compare(results: Results, oracle: str, threshold: str, seed: int) -> list[Document]:
    """All pairs of monitors over means of faults."""
    monitors = results.with_threshold(threshold)
    if len(monitors) < 2 or not results.sets:
        return []
    values = np.nan_to_num(results.mcc(oracle, threshold, monitors, results.sets))
    _, means = by_fault(values, results.sets)
    return [
        {
            "oracle": oracle, "threshold": threshold, "faults": len(means),
            **asdict(p), "one": monitors[p.one], "other": monitors[p.other],
        }
        for p in pairs(means, rope=ROPE, seed=seed)
    ]  # fmt: skip


def winners(results: Results) -> list[Document]:
    """By fault, oracle and kind of threshold: the monitor with the best mean MCC."""
    found = []
    for oracle in ORACLES:
        for threshold in (CERTIFIED, NATIVE):
            monitors = results.with_threshold(threshold)
            if not monitors or not results.sets:
                continue
            values = np.nan_to_num(results.mcc(oracle, threshold, monitors, results.sets))
            faults, means = by_fault(values, results.sets)
            for (case, fault), row in zip(faults, means, strict=True):
                best = int(np.argmax(row))
                found.append({
                    "case": case, "fault": fault, "oracle": oracle, "threshold": threshold,
                    "monitor": monitors[best], "mcc": float(row[best]),
                })  # fmt: skip
    return found


def statistics(results: Results, seed: int) -> Document:
    """All of it, for the document."""
    ranked = [
        rank(results, oracle, threshold, kind)
        for oracle in ORACLES
        for threshold in (CERTIFIED, NATIVE)
        for kind in (EVERY, *results.kinds)
    ]
    return {
        "rope": ROPE,
        "incomplete": results.incomplete,
        "rankings": [r for r in ranked if r is not None],
        "pairs": [
            p for oracle in ORACLES for threshold in (CERTIFIED, NATIVE)
            for p in compare(results, oracle, threshold, seed)
        ],
        "winners": winners(results),
    }  # fmt: skip


def find(rankings: Sequence[Document], oracle: str, threshold: str, kind: str = EVERY) -> Document:
    """One ranking of those of ``statistics``; empty where there is none."""
    wanted = (oracle, threshold, kind)
    return next((r for r in rankings if (r["oracle"], r["threshold"], r["kind"]) == wanted), {})
