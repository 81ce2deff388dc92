"""Which signal tells a device best how likely an answer is right: the table that it looks up, the
published ensemble, or that ensemble distilled to one small network in int8?"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.neural_network import MLPRegressor

from edgemon.bench.accuracy.sets import Rows
from edgemon.bench.errors import BenchError
from edgemon.compiler.accuracy import table
from edgemon.compiler.bundle.bundle import Bundle
from edgemon.compiler.bundle_rows import load_rows
from edgemon.compiler.estimation.observed import Observed, observe, watched
from edgemon.compiler.faults import registry
from edgemon.compiler.methods.accuracy import AccuracyEnsemble
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.statistics.metrics import auroc
from edgemon.compiler.terminal import Terminal, percent

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
HIDDEN = 16  # of the distilled network
CODE = 127  # the largest
LEAST_LOG = -16.0  # of a class's probability


@dataclass(frozen=True)
class Distilled:
    """A network of one hidden layer on logarithms of the sorted probabilities, weights and
    activations in int8, sums in int32."""

    weights: tuple[Floats, Floats]  # codes
    scales: tuple[float, float]
    biases: tuple[Floats, Floats]
    hidden_scale: float

    @classmethod
    def of(cls, p: Floats, target: Floats, seed: int) -> Distilled:
        """Learned from softmax vectors (n, classes) and what the ensemble says of them (n,)."""
        x = _codes(p) / CODE
        network = MLPRegressor(
            hidden_layer_sizes=(HIDDEN,),
            max_iter=500,
            early_stopping=True,
            n_iter_no_change=30,
            random_state=seed,
        ).fit(x, target)
        first, second = network.coefs_
        hidden = np.maximum(x @ first + network.intercepts_[0], 0)
        scales = tuple(float(np.abs(w).max()) / CODE for w in (first, second))
        return cls(
            (np.rint(first / scales[0]), np.rint(second / scales[1])), (scales[0], scales[1]),
            (network.intercepts_[0], network.intercepts_[1]), float(hidden.max()) / CODE,
        )  # fmt: skip

    def __call__(self, p: Floats) -> Floats:
        """The probability (n,) of being right."""
        summed = _codes(p) @ self.weights[0] * (self.scales[0] / CODE) + self.biases[0]
        hidden = np.clip(np.rint(summed / self.hidden_scale), 0, CODE)
        out = hidden @ self.weights[1] * (self.scales[1] * self.hidden_scale) + self.biases[1]
        found: Floats = np.clip(out[:, 0], 0, 1)
        return found

    @property
    def bytes(self) -> int:
        """Of weights in int8 and biases in int32."""
        return sum(w.size for w in self.weights) + 4 * sum(b.size for b in self.biases)


def _codes(p: Floats) -> Floats:
    logs = np.log(np.maximum(np.sort(p, axis=1), np.exp(LEAST_LOG)))
    found: Floats = np.rint((logs / LEAST_LOG) * CODE)
    return found


def pairs(text: str) -> list[tuple[str, int]]:
    """Faults and severities of FAULT:SEVERITY,... Raises BenchError."""
    found = []
    for part in filter(None, text.split(",")):
        name, _, severity = part.partition(":")
        fault = registry.find(name)
        if not severity.isdecimal() or not 1 <= int(severity) <= fault.severities:
            raise BenchError(f"--faults {part}: {name} has severities 1 to {fault.severities}")
        found.append((name, int(severity)))
    return found


def run(
    path: Path, reference: str, data: str, faults: Sequence[tuple[str, int]], *,
    members: int = 20, epochs: int = 200, seed: int = 0, workers: int = 2, reporter: Reporter,
) -> dict[str, Any]:  # fmt: skip
    """The JSON document of ``accuracy-signals``: all three learned on ``reference``, judged on
    ``data``, clean and with faults."""
    bundle = Bundle.open(path)
    learned = observe(bundle, reference, workers=workers, seed=seed, reporter=reporter)
    scored = learned.take(np.flatnonzero(~learned.faults))
    with reporter.stage("fitting") as progress:
        ensemble = AccuracyEnsemble(members, epochs=epochs, seed=seed)
        ensemble.fit(scored.p, scored.right, progress)
        own = table.fit(scored.scores, scored.right, monitor=watched(bundle))
        distilled = Distilled.of(scored.p, _mean(ensemble, scored.p), seed)
    signals: dict[str, Callable[[Observed], Floats]] = {
        "table": lambda rows: own.lookup(rows.scores) / table.UNIT,
        "ensemble": lambda rows: _mean(ensemble, rows.p),
        "distilled": lambda rows: distilled(rows.p),
    }
    lines: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        for rows in _sets(bundle, data, faults, Path(name), seed, reporter):
            spec = rows.saved(Path(name, str(len(lines))))
            seen = observe(bundle, spec, workers=workers, seed=seed, reporter=reporter)
            seen = seen.take(np.flatnonzero(~seen.faults))
            truth = seen.right
            lines.append(
                {
                    "set": rows.name, "rows": len(seen), "accuracy": float(truth.mean()),
                    "signals": {n: _quality(make(seen), truth) for n, make in signals.items()},
                }
            )  # fmt: skip
    return {
        "reference_rows": len(scored), "members": members, "epochs": epochs,
        "bytes": {"table": 10 * len(own.probabilities) - 8, "distilled": distilled.bytes},
        "lines": lines,
    }  # fmt: skip


def _mean(ensemble: AccuracyEnsemble, p: Floats) -> Floats:
    return np.asarray(ensemble.member_scores(p).mean(axis=0), np.float64)


def _sets(
    bundle: Bundle, data: str, faults: Sequence[tuple[str, int]], scratch: Path, seed: int,
    reporter: Reporter,
) -> Sequence[Rows]:  # fmt: skip
    rows = load_rows(bundle, data, scratch, reporter=reporter)
    if rows.y is None:
        raise BenchError(f"{data}: has no labels, so that right answers are unknown")
    (x,) = rows.blocks(len(rows))
    y = np.asarray(rows.y)
    found = [Rows("clean", x, y)]
    for fault, severity in faults:
        with reporter.stage(f"corrupting: {fault} {severity}"):
            made = registry.make(x, fault, severity, seed=seed, rows=rows.numbers, frame=x[0])
        found.append(Rows(f"{fault} {severity}", made, y))
    return found


def _quality(p: Floats, right: Bools) -> dict[str, float | None]:
    return {
        "estimate": float(p.mean()),
        "error": float(p.mean() - right.mean()),
        "brier": float(np.mean((p - right) ** 2)),
        "residual_deviation": float(np.std(right - p)),
        "auroc": auroc(1 - p, ~right),
    }


def show(terminal: Terminal, d: dict[str, Any]) -> None:
    """The document for people."""
    names = list(d["lines"][0]["signals"])
    terminal.table(
        ("set", "accuracy", *(f"{n}: {k}" for n in names for k in ("error", "Brier", "AUROC"))),
        [
            (
                line["set"], percent(line["accuracy"]),
                *(
                    f"{value:.3f}" if value is not None else "n/a"
                    for n in names
                    for value in (
                        line["signals"][n][k] for k in ("error", "brier", "auroc")
                    )
                ),
            )
            for line in d["lines"]
        ],
        title=f"estimates without labels, learned on {d['reference_rows']:,} rows: error of the "
        "mean, and how well each row is told",
    )  # fmt: skip
    terminal.note(
        f"{d['bytes']['table']:,} bytes of the table, {d['bytes']['distilled']:,} of the distilled "
        "network (without what computes it)"
    )
