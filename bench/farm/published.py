"""The figures that the published benchmark printed, and the same with rates exchanged where its
tables III and IV look exchanged.

There each method's FNR is the same for every corruption of a data set, and only its FPR varies; so
the printed positives are most likely the clean rows, which are the same in every set. Exchanged,
the false-alarm rate is the printed recall, what is caught the printed FPR, and the MCC changes its
sign. This is an inference from the printed numbers: the authors' files were not at hand.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Any

from edgemon.bench.farm.tables import UNDEFINED, Table, two

METHODS = ("ALOOC", "OOB", "ODIN")
EXCHANGED = ("III", "IV")  # tables


@dataclass(frozen=True)
class Printed:
    """A row as printed, and what follows from it."""

    table: str
    data: str
    variation: str
    method: str
    mcc: float
    fpr: float
    fnr: float
    precision: float
    recall: float
    f1: float

    @property
    def positives(self) -> float | None:
        """The share of rows that were positive, by precision, recall and FPR; None where these do
        not say it."""
        alarms_on_negatives = self.precision * self.fpr
        alarms_on_positives = (1 - self.precision) * self.recall
        whole = alarms_on_negatives + alarms_on_positives
        if not alarms_on_negatives or not alarms_on_positives:
            return None
        return alarms_on_negatives / whole

    @property
    def weighted_f1(self) -> float | None:
        """That of the printed rates; None as ``positives``."""
        share = self.positives
        if share is None:
            return None
        tp, fn = share * self.recall, share * (1 - self.recall)
        fp, tn = (1 - share) * self.fpr, (1 - share) * (1 - self.fpr)
        return share * 2 * tp / (2 * tp + fp + fn) + (1 - share) * 2 * tn / (2 * tn + fp + fn)

    @property
    def exchanged(self) -> tuple[float, float, float] | None:
        """MCC, FPR and FNR with the clean rows as negatives; None where nothing looks exchanged."""
        return (0 - self.mcc, self.recall, 1 - self.fpr) if self.table in EXCHANGED else None


def printed() -> list[Printed]:
    """Of tables II to IV."""
    return [
        Printed(row["table"], row["data"], row["variation"], method, *row[method])
        for row in _content()["row"]
        for method in METHODS
    ]


def tables() -> list[Table]:
    """Tables II to IV beside what is exchanged, and V to VII."""
    rows = []
    for p in printed():
        other = p.exchanged
        rows.append((
            p.table, p.data, p.variation, p.method, two(p.mcc), two(p.fpr), two(p.fnr),
            two(p.precision), two(p.recall), two(p.f1), two(p.weighted_f1), two(p.positives),
            *(("", "", "") if other is None else map(two, other)),
        ))  # fmt: skip
    whole = [
        (s["method"], two(s["gtsrb"]), two(s["cifar10"]),
         s.get("seconds", UNDEFINED), s.get("megabytes", UNDEFINED))
        for s in _content()["system"]
    ]  # fmt: skip
    return [
        Table(
            "published, tables II to IV: as printed, what follows, and exchanged",
            ("table", "data", "variation", "SM", "MCC", "FPR", "FNR", "Pr", "Re", "F1",
             "weighted F1", "positives", "MCC exch.", "FPR exch.", "FNR exch."),
            tuple(rows), "the GTSRB half of table III was not at hand; n/a: the rates do not say",
        ),
        Table(
            "published, tables V to VII: MCC of the system on clean rows, seconds and megabytes",
            ("method", "GTSRB", "CIFAR-10", "s an image (with files)", "MB"), tuple(whole),
        ),
    ]  # fmt: skip


def _content() -> dict[str, Any]:
    text = resources.files(__package__).joinpath("published.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
