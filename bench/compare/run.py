"""``edgemon compare``: all cases of a specification, and the means of its groups."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from edgemon.bench.compare.averages import average
from edgemon.bench.compare.case import run_case
from edgemon.bench.compare.measures import Numbers
from edgemon.bench.compare.panel import Document, Options
from edgemon.bench.compare.spec import Spec
from edgemon.bench.errors import BenchError
from edgemon.compiler.errors import MissingPackageError
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.errors import EdgemonError


def compare(
    path: Path,
    *,
    root: Path | None = None,
    cases: Sequence[str] = (),
    resplits: int | None = None,
    options: Options = Options(),  # noqa: B008 - frozen
    reporter: Reporter,
) -> Document:
    """The JSON document of ``compare --json``. Empty ``cases`` mean all; ``resplits`` replaces
    the specification's. A case whose model needs TensorFlow is skipped, with a warning, where that
    is not installed."""
    spec = Spec.read(path, root).only(list(cases))
    if resplits is not None:
        if not 1 <= resplits <= 1000:
            raise BenchError(f"--resplits {resplits}: 1 to 1000 are possible")
        spec = replace(spec, cases=tuple(replace(c, resplits=resplits) for c in spec.cases))
    done, skipped = [], []
    for case in spec.cases:
        try:
            done.append(run_case(case, spec.root, options, reporter))
        except MissingPackageError as error:
            reporter.warn(f"case {case.name!r} is skipped: {error}")
            skipped.append({"name": case.name, "reason": str(error)})
        except EdgemonError as error:
            raise BenchError(f"case {case.name!r}: {error}") from None
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
    """Means over the cases of the means over resplits (of the fixed split if there are none)."""
    monitors = dict.fromkeys(m["monitor"] for c in cases for m in c["monitors"])
    return {
        "name": name,
        "cases": [c["name"] for c in cases],
        "monitors": [
            {
                "monitor": monitor,
                "means": average([n for c in cases if (n := _numbers(c, monitor))], seed),
            }
            for monitor in monitors
        ],
    }


def _numbers(case: Document, monitor: str) -> Numbers:
    """What counts of one case; empty if the monitor is left out of it."""
    found: Document = next((m for m in case["monitors"] if m["monitor"] == monitor), {})
    if "resplits" not in found:
        return {}
    costs = {key: found[key] for key in ("bytes", "nanoseconds", "share_of_model")}
    if found["resplits"]:
        return {**costs, **{key: v["mean"] for key, v in found["resplits"].items()}}
    return {**costs, **{k: v for k, v in found["fixed"].items() if not k.endswith("interval")}}
