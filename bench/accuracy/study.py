"""``edgemon accuracy-study``: every estimate of accuracy beside the truth, on rows that are clean,
corrupted, attacked, and from elsewhere (Shao et al. 2020, tables 1 and 3 and figure 4, on models
that exist)."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import average_precision_score

from edgemon.bench.accuracy import batches
from edgemon.bench.accuracy.sets import user_sets
from edgemon.bench.accuracy.spec import Case, read
from edgemon.compiler.accuracy import table
from edgemon.compiler.accuracy.table import AccuracyTable
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.estimation import estimates
from edgemon.compiler.estimation.estimates import Estimate, Shift
from edgemon.compiler.estimation.inference import Share, of_labels, prediction_powered
from edgemon.compiler.estimation.learned import Learned
from edgemon.compiler.estimation.observed import Observed, observe, watched
from edgemon.compiler.estimation.unlabelled import largest
from edgemon.compiler.methods.accuracy import AccuracyEnsemble
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.reporter import Reporter
from edgemon.runtime.preprocess import Preprocess

Floats = npt.NDArray[np.float64]
Document = dict[str, Any]

LABELS = (50, 250)
POINTS = 0.05  # an error that a flag should have warned of
PUBLISHED = 0.01  # share of the rows that is labelled, by entropy


@dataclass(frozen=True)
class Plan:
    """How much work is done."""

    members: int = 20
    epochs: int = 200
    draws: int = 2000
    workers: int = 2
    seed: int = 0


def run(
    spec: Path, root: Path | None, plan: Plan, only: Sequence[str], reporter: Reporter
) -> Document:
    """The JSON document. Raises EdgemonError."""
    folder, cases = read(spec, root)
    found = [_case(case, folder, plan, reporter) for case in cases if not only or case.name in only]
    return {
        "members": plan.members, "epochs": plan.epochs, "draws": plan.draws, "seed": plan.seed,
        "cases": found, "summary": _summary([line for case in found for line in case["sets"]]),
    }  # fmt: skip


def _case(case: Case, root: Path, plan: Plan, reporter: Reporter) -> Document:
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        scratch = Path(name)
        with reporter.stage(f"{case.name}: compiling"):
            options = Options(
                preprocess=Preprocess.parse(case.preprocess), label_order=case.label_order,
                workers=plan.workers, seed=plan.seed,
            )  # fmt: skip
            sources = Sources(None, *(str(root / p) for p in (case.fit, case.calibrate, case.test)))
            compile_bundle(root / case.model, sources, scratch / "bundle", options)
        bundle = Bundle.open(scratch / "bundle")
        reference = observe(bundle, str(root / case.reference), workers=plan.workers)
        with reporter.stage(f"{case.name}: training the ensemble") as progress:
            ensemble = AccuracyEnsemble(plan.members, epochs=plan.epochs, seed=plan.seed)
            learned = Learned.of(reference, ensemble, seed=plan.seed, progress=progress)
        scored = ~reference.faults
        own = table.fit(reference.scores[scored], reference.right[scored], monitor=watched(bundle))
        lines, rows = [], {}
        for number, given in enumerate(user_sets(case, root, scratch, plan.seed, reporter)):
            seen = observe(bundle, given.saved(scratch / f"set{number}"), workers=plan.workers)
            with reporter.stage(f"{case.name}: estimating {given.name}"):
                lines.append({
                    "set": given.name, "left_out": given.left_out,
                    **_set(seen, learned, own, plan),
                })  # fmt: skip
            rows[given.name] = seen
        with reporter.stage(f"{case.name}: batches"):
            found = batches.follow(rows, learned, own, plan.seed)
        return {
            "name": case.name, "model": case.model,
            "reference": {"rows": learned.rows, "accuracy": learned.accuracy},
            "sets": lines, "batches": found,
        }  # fmt: skip


def _set(rows: Observed, learned: Learned, own: AccuracyTable, plan: Plan) -> Document:
    truth = float(rows.right.mean())
    shift = Shift.of(rows, learned)
    asked = sorted({max(1, round(PUBLISHED * len(rows))), *(k for k in LABELS if k < len(rows))})
    methods = [_line(m, truth) for m in estimates.unlabelled(rows, learned, own)]
    for labels in asked:
        assert rows.classes is not None
        at = estimates.most_entropy(rows, learned, labels)
        methods += [
            _line(m, truth) for m in estimates.from_entropy(rows, learned, at, rows.classes[at])
        ]
        at = estimates.drawn(rows, labels, plan.seed)
        methods += [
            _line(m, truth)
            for m in estimates.from_draw(rows, own, at, rows.classes[at])
            if m.name == "temperature"  # once: the others are drawn many times
        ]
        methods += _draws(rows, own, labels, plan)
    return {
        "rows": len(rows), "truth": truth, "flag": shift.flag, "drift_test": shift.drift,
        "p_value": shift.p_value, "methods": methods, "aupr": _aupr(rows, learned, own),
    }  # fmt: skip


def _line(found: Estimate, truth: float) -> Document:
    assert found.estimate is not None
    return {
        "name": found.name, "labels": found.labels, "estimate": found.estimate,
        "deviation": found.deviation, "error": abs(found.estimate - truth), "coverage": None,
    }  # fmt: skip


def _draws(rows: Observed, own: AccuracyTable, labels: int, plan: Plan) -> Iterator[Document]:
    """What random labels give over many draws: mean and deviation of the estimate, mean error, and
    the share of intervals with the truth in them."""
    truth, right = float(rows.right.mean()), rows.right
    told = estimates.probabilities(rows, own)
    rng = np.random.default_rng([plan.seed, labels])
    found: dict[str, list[Share]] = {"prediction_powered": [], "random": []}
    for _ in range(plan.draws):
        at = rng.choice(len(rows), labels, replace=False)
        found["prediction_powered"].append(prediction_powered(told, right[at], at))
        found["random"].append(of_labels(right[at], len(rows)))
    for name, shares in found.items():
        values = np.array([share.estimate for share in shares])
        inside = [
            s.low <= truth <= s.high for s in shares if s.low is not None and s.high is not None
        ]
        yield {
            "name": name, "labels": labels, "estimate": float(values.mean()),
            "deviation": float(values.std()), "error": float(np.abs(values - truth).mean()),
            "coverage": float(np.mean(inside)) if inside else None,
        }  # fmt: skip


def _aupr(rows: Observed, learned: Learned, own: AccuracyTable) -> Document:
    """Average precision of scores a row, with right answers as positives, and with wrong ones."""
    scores = {"calibrated_score": estimates.probabilities(rows, own), "mp": largest(rows.p)}
    if learned.ensemble is not None:
        scores["ensemble"] = learned.ensemble.member_scores(rows.p).mean(axis=0).astype(np.float64)
    right = rows.right
    if right.all() or not right.any():
        return {name: {"right": None, "wrong": None} for name in scores}
    return {
        name: {
            "right": float(average_precision_score(right, score)),
            "wrong": float(average_precision_score(~right, -score)),
        }
        for name, score in scores.items()
    }


def _summary(lines: Sequence[Document]) -> Document:
    """Mean and worst error of each method over all sets, in shares; and what the flag warned of."""
    errors: dict[tuple[str, int], list[float]] = {}
    coverage: dict[tuple[str, int], list[float]] = {}
    for line in lines:
        published = max(1, round(PUBLISHED * line["rows"]))
        for m in line["methods"]:
            if m["labels"] in (0, *LABELS) or m["labels"] == published:
                errors.setdefault((m["name"], m["labels"]), []).append(m["error"])
                if m["coverage"] is not None:
                    coverage.setdefault((m["name"], m["labels"]), []).append(m["coverage"])
    off = [
        line for line in lines
        if next(m for m in line["methods"] if m["name"] == "calibrated_score")["error"] > POINTS
    ]  # fmt: skip
    return {
        "methods": [
            {
                "name": name,
                "labels": labels,
                "sets": len(found),
                "mean": float(np.mean(found)),
                "worst": float(max(found)),
                "coverage": [min(c), max(c)] if (c := coverage.get((name, labels))) else None,
            }
            for (name, labels), found in sorted(errors.items())
            if labels in (0, *LABELS)
        ],
        "off_by_5_points": len(off),
        "of_these_with_flag": sum(line["flag"] for line in off),
        "sets": len(lines),
        "with_flag": sum(line["flag"] for line in lines),
    }
