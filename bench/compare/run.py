"""``edgemon compare``: all cases of a specification, and the means of its groups."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from edgemon.bench.compare.averages import average
from edgemon.bench.compare.measures import Numbers
from edgemon.bench.compare.panel import Document, PanelOptions
from edgemon.bench.compare.spec import Spec
from edgemon.bench.compare.steps import CaseStep, do, do_and_store
from edgemon.bench.errors import BenchError
from edgemon.bench.sweep.engine import Engine
from edgemon.compiler.reporter import Reporter


def compare(
    path: Path,
    *,
    root: Path | None = None,
    cases: Sequence[str] = (),
    resplits: int | None = None,
    options: PanelOptions = PanelOptions(),  # noqa: B008 - frozen
    engine: Engine = Engine(),  # noqa: B008 - frozen
    store: Path | None = None,
    reporter: Reporter,
) -> Document:
    """The JSON document of ``compare --json``. Empty ``cases`` mean all; ``resplits`` replaces
    the specification's. A case whose model needs TensorFlow is skipped, with a warning, where that
    is not installed. Cases are done by ``engine``, and found again in ``store``."""
    spec = Spec.read(path, root).only(list(cases))
    if resplits is not None:
        if not 1 <= resplits <= 1000:
            raise BenchError(f"--resplits {resplits}: 1 to 1000 are possible")
        spec = replace(spec, cases=tuple(replace(c, resplits=resplits) for c in spec.cases))
    steps = [CaseStep(case, spec.root, options, store) for case in spec.cases]
    done: list[Document] = []
    skipped: list[Document] = []
    answers = engine.each(
        steps, lambda step: do(step, reporter), do_and_store, spec.name, reporter
    )  # fmt: skip
    for step, found in zip(steps, answers, strict=True):
        if isinstance(found, str):
            reporter.warn(f"case {step.case.name!r} is skipped: {found}")
            skipped.append({"name": step.case.name, "reason": found})
        else:
            done.append(found)
    if engine.elsewhere:
        reporter.note("times were measured beside other steps: take those of a run without --jobs")
    names = dict.fromkeys(c["group"] for c in done if c["group"])
    return {
        "comparison": spec.name,
        "positive": "the model is wrong; an uncertain verdict counts as an alarm",
        "promise": {
            "false_alarms": options.target.rate, "confidence": options.target.confidence,
        },
        "seed": options.seed,
        "machine": f"{platform.machine()}, Python {platform.python_version()}",
        "cases": done,
        "skipped": skipped,
        "groups": [_group(n, [c for c in done if c["group"] == n], options.seed) for n in names],
    }  # fmt: skip


def _group(name: str, cases: list[Document], seed: int) -> Document:
    """Means over the cases: of their means over resplits, and of their fixed splits."""
    return {
        "name": name,
        "cases": [c["name"] for c in cases],
        "monitors": _of_group(cases, "monitors", "monitor", seed),
        "references": _of_group(cases, "references", "reference", seed),
    }


def _of_group(cases: list[Document], kinds: str, kind: str, seed: int) -> list[Document]:
    return [
        {
            kind: name,
            "means": average(_all_numbers(cases, kinds, kind, name, _means_of), seed),
            "fixed": average(_all_numbers(cases, kinds, kind, name, _fixed_of), seed),
        }
        for name in dict.fromkeys(m[kind] for c in cases for m in c[kinds])
    ]


def _all_numbers(
    cases: list[Document], kinds: str, kind: str, name: str,
    numbers_of: Callable[[Document], Numbers],
) -> list[Numbers]:  # fmt: skip
    """Numbers of the cases in which the monitor or reference is not left out."""
    every = [m for c in cases for m in c[kinds] if m[kind] == name]
    return [numbers_of(m) for m in every if "left_out" not in m]


def _means_of(found: Document) -> Numbers:
    costs = {
        key: found[key] for key in ("bytes", "nanoseconds", "share_of_model") if key in found
    }  # fmt: skip
    return {**costs, **{key: v["mean"] for key, v in found["resplits"].items()}}


def _fixed_of(found: Document) -> Numbers:
    return {k: v for k, v in (found["fixed"] or {}).items() if not k.endswith("interval")}
