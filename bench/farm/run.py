"""``edgemon farm``: all cases of a description, and the documents of what came out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgemon.bench.compare.panel import PanelOptions
from edgemon.bench.errors import BenchError
from edgemon.bench.farm.case import Judged, Wishes, run_case
from edgemon.bench.farm.measures import RESAMPLES
from edgemon.bench.farm.ranking import HEADLINE, Results, find, statistics
from edgemon.bench.farm.sentences import sentences
from edgemon.bench.farm.spec import FarmSpec
from edgemon.bench.farm.work import Place
from edgemon.compiler.errors import MissingPackageError
from edgemon.compiler.faults import registry
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.statistics.intervals import RESAMPLES as MCC_RESAMPLES
from edgemon.runtime.errors import EdgemonError

Document = dict[str, Any]


def farm(
    path: Path, *, root: Path | None = None, cases: tuple[str, ...] = (),
    bundle: Path | None = None, wishes: Wishes = Wishes(),  # noqa: B008 - frozen
    options: PanelOptions = PanelOptions(),  # noqa: B008 - frozen
    reporter: Reporter,
) -> tuple[Document, list[Document]]:  # fmt: skip
    """The document of ``farm --json``, which is the same in every run, and the costs that were
    measured, which are not."""
    spec = FarmSpec.read(path, root)
    known = [c.name for c in spec.cases]
    for name in cases:
        if name not in known:
            raise BenchError(f"--cases: unknown case {name!r}; there are {', '.join(known)}")
    if bundle is not None and len(cases or known) > 1:
        raise BenchError("--bundle is judged on one case: name it with --cases")
    done: list[Judged] = []
    skipped = []
    for case in spec.cases:
        if cases and case.name not in cases:
            continue
        try:
            done.append(run_case(Place(case, spec, options, bundle), wishes, reporter))
        except MissingPackageError as error:
            reporter.warn(f"case {case.name!r} is skipped: {error}")
            skipped.append({"name": case.name, "reason": str(error)})
        except EdgemonError as error:
            raise BenchError(f"case {case.name!r}: {error}") from None
    document: Document = {
        "benchmark": spec.name, "description_sha256": spec.sha256, "seed": spec.seed,
        "monitor_seed": options.seed,
        "oracles": {
            "specific": "positive: the row has the fault",
            "overall": "positive: the model is wrong; a novel row always is",
        },
        "alarm": "any verdict but trust, by the C runtime on the artifact as compiled",
        "promise": {
            "false_alarms": options.target.rate, "confidence": options.target.confidence,
        },
        "bundle": None if bundle is None else bundle.name,
        "prevalence": wishes.prevalence,
        "bootstrap": {"mcc": MCC_RESAMPLES, "rankings": RESAMPLES},
        "left_out": registry.LEFT_OUT,
        "cases": [j.summary for j in done], "skipped": skipped,
        "sets": [s for j in done for s in j.sets],
        "not_available": [n for j in done for n in j.not_available],
        "monitors": [m for j in done for m in j.monitors],
        "results": [r for j in done for r in j.results],
        "system": [s for j in done for s in j.system],
    }  # fmt: skip
    complete(document, options.seed)
    return document, [j.costs for j in done]


def complete(document: Document, seed: int) -> None:
    """Adds ranks, statistics and sentences of the results."""
    found = statistics(Results(document["results"]), seed)
    first = find(found["rankings"], *HEADLINE)
    document["ranks"] = first.get("ranks", [])
    document["critical_difference"] = first.get("critical_difference")
    document["ranked_by"] = {
        "oracle": HEADLINE[0], "threshold": HEADLINE[1], "measure": "mcc",
        "undefined": "counts as 0, for ranks only",
    }  # fmt: skip
    document["statistics"] = found
    document["sentences"] = sentences(document)
