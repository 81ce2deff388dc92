"""All that is measured of a model's trust, as one document."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from edgemon.compiler.report.trust import densities
from edgemon.compiler.statistics import calibration
from edgemon.compiler.statistics import trust as metrics
from edgemon.compiler.statistics.intervals import clopper_pearson
from edgemon.compiler.statistics.trust import Trust
from edgemon.compiler.trust.answers import Answers, by_scenario

Document = dict[str, Any]


def describe(
    name: str, found: Answers, *, scenario: str = "true", alpha: float = 1.0, beta: float = 1.0,
    prior: str = "data", joint: bool = False, seed: int = 0,
) -> Document:  # fmt: skip
    """The JSON document of one model. ``monitored``: the same over the answers that the monitors
    let pass, and what they stopped; null without monitors."""

    def of(rows: Answers) -> Trust:
        return metrics.measure(
            rows.confidence, rows.right, by_scenario(rows, scenario), len(rows.names), alpha=alpha,
            beta=beta, prior=prior, joint=joint, seed=seed,
        )  # fmt: skip

    trust = of(found)
    q = metrics.question_answer_trust(found.confidence, found.right, alpha=alpha, beta=beta)
    return {
        "name": name, "rows": trust.rows, "scenario": scenario, "alpha": alpha, "beta": beta,
        "prior": prior, "joint": joint, "accuracy": trust.accuracy,
        "accuracy_interval": clopper_pearson(int(found.right.sum()), trust.rows),
        "net_trust_score": trust.net_trust_score, "interval": trust.interval,
        "confidence_right": trust.confidence_right, "confidence_wrong": trust.confidence_wrong,
        "spectrum": _spectrum(trust, found.names),
        "densities": [
            {"class": d["label"], "trust": d["trust"], "density": d["density"]}
            for d in densities(trust, q, by_scenario(found, scenario), found.names)
        ],
        **_calibration(found),
        "reliability": [asdict(b) for b in calibration.reliability(found.confidence, found.right)],
        "monitored": _monitored(found, of), "examples": list(found.examples),
    }  # fmt: skip


def figures(document: Document) -> dict[str, float | None]:
    """What ``--require`` may name."""
    own: list[float] = [s["trust"] for s in document["spectrum"] if s["trust"] is not None]
    monitored = document["monitored"]
    return {
        "net_trust": document["net_trust_score"], "class_trust": min(own),
        "accuracy": document["accuracy"], "ece": document["expected_calibration_error"],
        "brier": document["brier"],
        **({} if monitored is None else {"monitored_net_trust": monitored["net_trust_score"]}),
    }  # fmt: skip


def _spectrum(trust: Trust, names: Sequence[str]) -> list[Document]:
    return [
        {
            "class": None if s.scenario is None else names[s.scenario], "rows": s.rows,
            "trust": s.trust, "interval": s.interval,
        }
        for s in trust.spectrum
    ]  # fmt: skip


def _calibration(found: Answers) -> Document:
    return {
        "expected_calibration_error": calibration.expected_calibration_error(
            found.confidence, found.right
        ),
        "classwise_calibration_error": calibration.classwise_error(found.p, found.labels),
        "brier": calibration.brier(found.p, found.labels),
    }


def _monitored(found: Answers, of: Any) -> Document | None:
    if found.passed is None:
        return None
    stopped = ~found.passed
    passing = found.take(np.flatnonzero(found.passed))
    trust = of(passing) if len(passing.p) else None
    return {
        "passed": float(found.passed.mean()),
        "stopped_wrong": _share(stopped & ~found.right, ~found.right),
        "stopped_right": _share(stopped & found.right, found.right),
        "accuracy": None if trust is None else trust.accuracy,
        "net_trust_score": None if trust is None else trust.net_trust_score,
        "interval": None if trust is None else trust.interval,
        "confidence_right": None if trust is None else trust.confidence_right,
        "confidence_wrong": None if trust is None else trust.confidence_wrong,
        "spectrum": [] if trust is None else _spectrum(trust, found.names),
    }


def _share(part: metrics.Bools, whole: metrics.Bools) -> float | None:
    return float(part.sum() / whole.sum()) if whole.any() else None
