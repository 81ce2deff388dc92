"""A compile without a model, and its report."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgemon import targets
from edgemon.compiler import fitting
from edgemon.compiler.bundle import manifest as manifests
from edgemon.compiler.cost.bill import Bill
from edgemon.compiler.data.splits import Splits
from edgemon.compiler.emit import flat
from edgemon.compiler.fitted import Fitted
from edgemon.compiler.last_bits import code_errors, kernel_sets
from edgemon.compiler.monitors import MONITORS, parse
from edgemon.compiler.promise.realised import realised
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.proof import self_test
from edgemon.compiler.recording.recording import Recording
from edgemon.compiler.report import Given, collect, render
from edgemon.compiler.worth import worths
from edgemon.runtime.preprocess import InputSpec, Preprocess
from edgemon.targets import OpTimes
from tests.compiler.monitors.test_contract import TAPS
from tests.compiler.recordings import recorded_splits
from tests.compiler.report.given_rows import given_rows

TIMES = targets.load(targets.DEFAULT).times
EVIL = '<script>alert("&amp;")</script>'
Parts = Splits[Recording]


@dataclass(frozen=True)
class Case:
    """A compile without a model."""

    fitted: Fitted
    rows: Parts
    document: dict[str, Any]
    page: str


def last_bits_json(fitted: Fitted, rows: Recording) -> dict[str, Any]:
    judges = len(fitted.judges)
    lsb = code_errors.measure(fitted.program, rows, judges)
    same = kernel_sets.compare(fitted.program, judges, "builtin", rows, rows)
    return {
        "lsb": None if lsb is None else lsb.to_json(),
        "certified_kernels": ["builtin", "reference"],
        "kernels": [same.to_json()],
    }


def images(rows: Recording) -> Given:
    """A picture for each row."""
    pixels = np.random.default_rng(0).integers(0, 256, (len(rows), 8, 8, 3), np.uint8)
    folder = Path(tempfile.mkdtemp())
    return given_rows(folder, pixels, InputSpec("x", (8, 8, 3), "uint8", 1.0))


def entries(fitted: Fitted, rows: Parts) -> list[Any]:
    found = worths(fitted, rows.test, FalseAlarmPromise(), "logits")
    return [j.to_json(w) for j, w in zip(fitted.judges, found, strict=True)]


def make_case(
    rows: Parts, monitors: str, labels: tuple[str, ...] = tuple("abcd"), by: str | None = None,
    times: OpTimes | None = TIMES,
) -> Case:  # fmt: skip
    estimators = parse(monitors)
    for estimator in estimators:
        estimator.set_params(taps=TAPS[estimator.kind])
        if estimator.kind == "errors":
            signals = (MONITORS[n](taps=TAPS[n]) for n in ("msp_t", "second_opinion"))
            estimator.set_params(signals=tuple(signals))
    target = FalseAlarmPromise()
    fitted = fitting.fit_monitors(estimators, "output", rows, target, times=times)
    cost = Bill(fitted.program, times).together()
    vectors, damage = self_test.choose(fitted.program, fitted.on_test, rows.test)
    artifact = flat.write(flat.Artifact(fitted.program, "00" * 32, {}, vectors))
    manifest = {
        "edgemon": "1",
        "model": {"file": f"{EVIL}.tflite", "sha256": "00", "output_kind": "logits"},
        "accuracy": 0.9,
        "decision": None,
        "own_labels": None,
        "groups": manifests.groups_json(by, rows, fitted),
        "monitors": entries(fitted, rows),
        "realised": realised(
            fitted.on_test, {j.name: j.calibrated for j in fitted.judges}, target, rows.test,
            rows.test.rows, 0,
        ).to_json(),
        "comparison": [c.to_json() for c in fitted.comparison],
        "clipped_share": None, "input": {
            "spread": None, "better": None, "vectors_as": None,
            "tried": [{"flags": "", "right": 90, "rows": 100}],
        },
        "left_out": [x.to_json() for x in fitted.left_out],
        "drift": None,
        "last_bits": last_bits_json(fitted, rows.test),
        "guard": None, "augmented": None,
        "proof": {
            "rows": 10, "neighbours": 20, "mismatches": 0, "output_rows": 5, "output_mismatches": 0
        },
        "self_test": damage.to_json(),
        "data": {"data": {"spec": EVIL, "sha256": {EVIL: "11"}}},
        "options": {
            "monitor": monitors, "taps": "", "seed": 0, "expect_accuracy": None,
            "preprocess": Preprocess().to_json(),
        },
        "budget": {"kilobytes": 64.0, "microseconds": None},
        "bytes": {"monitors": cost.size_bytes},
        "estimated_us": cost.microseconds,
        "sha256": {"monitor.emon": "22"},
    }  # fmt: skip
    metadata = {"labels": list(labels), "kernels": "builtin", "target": "host"}
    document = collect(fitted, rows, target, manifest, metadata, artifact, images(rows.test))
    return Case(fitted, rows, document, render(document))


def make_splits(folder: Path, dtype: str) -> Parts:
    return recorded_splits(folder, dtype, 500)
