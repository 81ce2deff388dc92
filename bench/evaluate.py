"""``edgemon evaluate``: verdict files in, metrics out, by one oracle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from scipy.stats import rankdata

from edgemon.bench.verdicts import Verdicts, read
from edgemon.compiler.statistics.metrics import RiskCoverage, measure
from edgemon.compiler.terminal import Terminal, percent

CURVE_POINTS = 101


def evaluate_files(paths: Sequence[Path], *, seed: int = 0) -> dict[str, Any]:
    """Metrics of every monitor in the files: the JSON document of ``evaluate --json``."""
    results = [
        _describe(v, seed)
        for path, name in zip(paths, _names(paths), strict=True)
        for v in read(path, name)
    ]
    return {
        "positive": "the model is wrong; an uncertain verdict and a fault count as alarms",
        "monitors": [r for r in results if not r["constant_predictor"]],
        "constant_predictors": [r for r in results if r["constant_predictor"]],
    }


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The same as tables."""
    _tables(terminal, document["monitors"], "positive: " + document["positive"])
    if document["constant_predictors"]:
        _tables(
            terminal,
            document["constant_predictors"],
            "constant predictors: the model gives one answer on every row, so that to be wrong is "
            "only to have the other label",
        )


def interval(found: tuple[float, float] | None) -> str:
    """An interval for people."""
    return "n/a" if found is None else f"[{found[0]:.3f}, {found[1]:.3f}]"


def _names(paths: Sequence[Path]) -> list[str]:
    """The shortest names that tell the files apart."""
    for name in (lambda p: p.stem, lambda p: f"{p.parent.name}/{p.stem}"):
        found = [name(p) for p in paths]
        if len(set(found)) == len(found):
            return found
    return [str(p) for p in paths]


def _describe(verdicts: Verdicts, seed: int) -> dict[str, Any]:
    metrics = measure(verdicts.alarm, verdicts.wrong, verdicts.score, seed=seed)
    return {
        "name": verdicts.name,
        "constant_predictor": verdicts.constant,
        "verdicts": verdicts.counts(),
        **asdict(metrics),
        "risk_coverage": _curve(verdicts),
    }


def _curve(verdicts: Verdicts) -> list[list[float]] | None:
    """Points (coverage, risk), thinned."""
    if verdicts.score is None:
        return None
    curve = RiskCoverage.of(rankdata(verdicts.score), verdicts.wrong).thinned(CURVE_POINTS)
    return [[float(v) for v in point] for point in zip(curve.coverage, curve.risk, strict=True)]


def _tables(terminal: Terminal, results: list[dict[str, Any]], title: str) -> None:
    if not results:
        return
    terminal.table(
        ("monitor", "rows", "wrong", "TP", "FP", "TN", "FN", "TPR", "FPR", "precision", "F1"),
        [
            (
                r["name"], r["rows"], r["wrong"], *(r["confusion"][k] for k in _COUNTS),
                *(f"{percent(r[k])} {interval(r[k + '_interval'])}" for k in _SHARES),
                percent(r["f1"]),
            )
            for r in results
        ],
        title=title,
    )  # fmt: skip
    terminal.table(
        ("monitor", "MCC", "95 %", "AUROC", "95 %", "AURC"),
        [
            (
                r["name"], r["mcc"], interval(r["mcc_interval"]), r["auroc"],
                interval(r["auroc_interval"]), r["aurc"],
            )
            for r in results
        ],
    )  # fmt: skip
    terminal.table(
        (
            "monitor", "AUPR, wrong", "95 %", "AUPR, right", "95 %",
            "false alarms at 95 % caught", "95 %",
        ),
        [
            (
                r["name"], r["aupr"], interval(r["aupr_interval"]), r["aupr_right"],
                interval(r["aupr_right_interval"]), r["fpr_at_95_tpr"],
                interval(r["fpr_at_95_tpr_interval"]),
            )
            for r in results
        ],
    )  # fmt: skip


_COUNTS = ("tp", "fp", "tn", "fn")
_SHARES = ("tpr", "fpr", "precision")
