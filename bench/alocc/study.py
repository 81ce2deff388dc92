"""``edgemon alocc study``: the error of redrawn images beside monitors, on the sets of farm."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.bench.alocc.judges import Reconstruction, Shipped
from edgemon.bench.compare.panel import PanelOptions
from edgemon.bench.compare.rows import load_labelled, short_name
from edgemon.bench.errors import BenchError
from edgemon.bench.farm.measures import ORACLES, Rows, judge
from edgemon.bench.farm.sets import CaseSets
from edgemon.bench.farm.spec import FarmCase, FarmSpec
from edgemon.bench.farm.subjects import OfCase
from edgemon.bench.farm.system import system
from edgemon.bench.farm.work import labels_of
from edgemon.compiler.faults.attacks import NotAvailableError
from edgemon.compiler.reporter import Reporter

Document = dict[str, Any]
PREVALENCE = 0.1


def run(
    path: Path, root: Path | None, name: str, companions: Sequence[Path],
    monitors: tuple[str, ...], *, workers: int, reporter: Reporter,
) -> Document:  # fmt: skip
    """The JSON document. Attacks are left out: ``not_available`` says so. Raises BenchError."""
    spec = FarmSpec.read(path, root)
    found = next((c for c in spec.cases if c.name == name), None)
    if found is None:
        known = ", ".join(c.name for c in spec.cases)
        raise BenchError(f"--case {name!r}: {path} has {known}")
    for given in companions:
        if not given.exists():
            raise BenchError(f"--companion {given}: there is no such file or folder")
    case = replace(found, monitors=monitors, gradient="")
    options = PanelOptions(workers=workers)
    with tempfile.TemporaryDirectory(prefix="edgemon-") as folder:
        scratch = Path(folder)
        subject = OfCase(case, spec.root, options, scratch, reporter)
        sets = CaseSets(
            case, subject.data, spec.rows, spec.seed, spec.root, scratch, subject.labels, reporter
        )
        clean = subject.record(sets.clean, "clean")
        redrawn = [
            Reconstruction(p, subject, case, options.target, reporter)
            if p.is_dir()
            else Shipped(p, case, spec.root, options, scratch, reporter)
            for p in companions
        ]
        document: Document = {
            "case": name, "accuracy": float(clean.correct.mean()), "monitors": [],
            "not_available": [], "results": [],
        }  # fmt: skip
        judges = {}
        for monitor, one in subject.monitors(clean):
            if isinstance(one, str):
                document["not_available"].append({"monitor": monitor, "reason": one})
                continue
            judges[monitor] = one
            document["monitors"].append({"monitor": monitor, **one.properties()})
        document["monitors"] += [{"monitor": r.name, **r.properties()} for r in redrawn]
        of_clean = {m: j.judge(clean) for m, j in judges.items()}
        of_clean |= {r.name: r.judge(sets.clean, clean) for r in redrawn}
        for kind, fault, severity, data in _sets(
            case, spec, sets, subject, scratch, document, reporter
        ):
            recorded = subject.record(data, fault)
            rows = Rows(
                np.concatenate([labels_of(clean), labels_of(recorded)]),
                np.concatenate([clean.predicted, recorded.predicted]).astype(np.int64),
                np.repeat([False, True], [len(clean), len(recorded)]),
            )
            of_set = {m: j.judge(recorded) for m, j in judges.items()}
            of_set |= {r.name: r.judge(data, recorded) for r in redrawn}
            for monitor, first in of_clean.items():
                both = first.joined(of_set[monitor])
                about = {"monitor": monitor, "fault": fault, "kind": kind, "severity": severity}
                document["results"] += [
                    {**about, **judge(rows, both, oracle, PREVALENCE, spec.seed),
                     "system": system(rows, both)}
                    for oracle in ORACLES
                ]  # fmt: skip
    return document


def _sets(
    case: FarmCase, spec: FarmSpec, sets: CaseSets, subject: OfCase, scratch: Path,
    document: Document, reporter: Reporter,
) -> Any:  # fmt: skip
    """(kind, fault, severity, rows) of each set that can be made."""
    for name in subject.data.novel:
        made = sets.novel(name)
        yield made.kind, name, 0, made.data
    for text in case.faulty:
        data = load_labelled(
            case, text, spec.root, subject.labels, scratch, reporter, subject.input
        )
        made = sets.faulty(short_name(text), data)
        yield made.kind, made.fault, 0, made.data
    for wanted in spec.wanted:
        try:
            made = sets.make(wanted)
        except NotAvailableError as error:
            document["not_available"].append({"fault": wanted.fault, "reason": str(error)})
            continue
        yield made.kind, wanted.fault, wanted.severity, made.data
