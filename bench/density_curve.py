"""``edgemon density-curve``: what compact densities are worth, byte by byte.

Each layer's class by the exact kernel densities is the yardstick: how often does a compact form
infer the same class, and what does the alarm lose that listens to compact forms?
"""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from edgemon.bench.errors import BenchError
from edgemon.bench.evaluate import interval
from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.data.classes import resolve
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import Dataset, load
from edgemon.compiler.data.splits import REFUSE, align_classes, require_sharing, without_overlap
from edgemon.compiler.methods.kernel_density import LayerDensities
from edgemon.compiler.methods.selfchecker import SelfChecker
from edgemon.compiler.models import open_model
from edgemon.compiler.models.model import TappedModel
from edgemon.compiler.monitors.selfchecker.densities.candidates import (
    FORMS,
    DensityCandidate,
    LayerCandidates,
    allocate,
    frontier,
)
from edgemon.compiler.monitors.selfchecker.layers import RowParts, choose_layers, distinct
from edgemon.compiler.monitors.selfchecker.selfchecker import SelfCheckerMonitor
from edgemon.compiler.recording.recorder import SAMPLE, settled
from edgemon.compiler.recording.recording import Recording, record
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.statistics.intervals import mcc_difference_interval
from edgemon.compiler.statistics.metrics import Metrics, measure
from edgemon.compiler.taps.assignment import assign_taps
from edgemon.compiler.terminal import Terminal, percent
from edgemon.runtime.preprocess import Preprocess

Array = npt.NDArray[np.integer]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]

SIZES_KB = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # of 1024 bytes


@dataclass(frozen=True)
class Data:
    """Which rows, and how the model is to see them; as ``edgemon compile`` takes them."""

    fit: str
    test: str
    preprocess: Preprocess = field(default_factory=Preprocess)
    label_order: str = "numeric"
    classes: tuple[str, ...] | None = None
    label_column: str | None = None
    shared_rows: str = REFUSE

    def __post_init__(self) -> None:
        require_sharing(self.shared_rows)


@dataclass(frozen=True, eq=False)
class Curve:
    """One layer: exact classes of validation and test rows, and candidates by form."""

    tap: str
    features: int
    validation: Floats
    test: Floats
    exact_validation: Array
    exact_test: Array
    by_form: dict[str, list[DensityCandidate]]
    half: dict[str, Any]  # the exact densities of half of the rows, for comparison

    def agreement(self, candidate: DensityCandidate) -> float:
        return float((_classes(candidate, self.test) == self.exact_test).mean())

    def to_json(self, sizes_kb: Sequence[int]) -> dict[str, Any]:
        forms = {
            form: [self._point(found, kb) for kb in sizes_kb]
            for form, found in self.by_form.items()
        }
        return {
            "tap": self.tap,
            "features": self.features,
            "forms": forms,
            "exact_of_half_of_the_rows": self.half,
        }

    def _point(self, found: list[DensityCandidate], kb: int) -> dict[str, Any] | None:
        """The best candidate within so many bytes; None if there is none."""
        best = _within(found, kb)
        if best is None:
            return None
        return {
            "kb": kb,
            "bytes": best.size_bytes,
            "agreement": self.agreement(best),
            **best.density.settings(),
        }


def density_curve(
    model_path: Path,
    data: Data,
    *,
    taps: str = "",
    rule: str = "majority",
    sizes_kb: Sequence[int] = SIZES_KB,
    max_rows: int = 5000,
    seed: int = 0,
    workers: int = 2,
    reporter: Reporter = Reporter(),  # noqa: B008 - stateless
) -> dict[str, Any]:
    """The JSON document of ``density-curve --json``. Forms are chosen on validation rows, which
    are fit rows; everything is reported on at most ``max_rows`` test rows."""
    if max_rows < 1:
        raise BenchError(f"--rows {max_rows}: at least 1 is needed")
    monitor = SelfCheckerMonitor(rule=rule, seed=seed)
    monitor.check_settings()
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        fit, test = _record(
            model_path, data, monitor, taps, max_rows, workers, Path(scratch), reporter
        )
        rows = RowParts.split(len(fit), monitor.validation, monitor.exact_rows, seed)
        features = distinct({name: fit.features(name) for name in monitor.taps}, fit)
        with reporter.stage("fitting densities") as progress, threadpool_limits(1):
            curves = []
            for name, x in features.items():
                curves.append(_curve(name, x, fit, test, rows, max(sizes_kb)))
                progress(len(curves), len(features))
    held_out = fit.take(rows.validation)
    return {
        "model": model_path.name,
        "rows": {
            "density": len(rows.density),
            "validation": len(rows.validation),
            "test": len(test),
            "wrong_test": int((~test.correct).sum()),
        },
        "sizes_kb": list(sizes_kb),
        "layers": [c.to_json(sizes_kb) for c in curves],
        "alarm": _alarm(curves, held_out, test, monitor, sizes_kb),
    }


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The same as tables."""
    rows = document["rows"]
    terminal.note(
        f"share of {rows['test']:,} test rows on which a layer's class is that of the exact "
        f"kernel densities of {rows['density']:,} rows"
    )
    sizes = document["sizes_kb"]
    for layer in document["layers"]:
        half = layer["exact_of_half_of_the_rows"]
        terminal.note(f"{layer['tap']}: {layer['features']} features")
        terminal.table(
            ("form", *(f"{kb} kB" for kb in sizes)),
            [
                (form, *("-" if p is None else percent(p["agreement"]) for p in points))
                for form, points in layer["forms"].items()
            ],
        )
        terminal.note(
            f"the exact densities of half of the rows ({half['bytes']:,} bytes in "
            f"int8): {percent(half['agreement'])}"
        )
    alarm = document["alarm"]
    exact = alarm["exact"]
    terminal.note(
        f"alarm by the rule {alarm['rule']} on {len(alarm['layers'])} layers ("
        + ", ".join(alarm["layers"])
        + f"); with exact classes: MCC {_value(exact['mcc'])} {interval(exact['mcc_interval'])}"
    )
    terminal.table(
        ("compact classes", "bytes", "MCC", "95 %", "difference to exact", "95 %"),
        [
            (
                f"{p['kb']} kB", p["bytes"], _value(p["mcc"]), interval(p["mcc_interval"]),
                _value(p["difference"]), interval(p["difference_interval"]),
            )
            for p in alarm["compact"]
        ],
    )  # fmt: skip


def _record(
    model_path: Path, data: Data, monitor: SelfCheckerMonitor, taps: str, max_rows: int,
    workers: int, scratch: Path, reporter: Reporter,
) -> tuple[Recording, Recording]:  # fmt: skip
    """The fit and the test rows through the model; gives the monitor its taps."""
    with reporter.stage("opening the model"):
        model = open_model(model_path, scratch)
        model.require_classifier()
    with reporter.stage("reading the data") as progress:
        parts = {
            name: load(
                spec, scratch, label_column=data.label_column,
                pictures=Pictures.of(data.preprocess, model.input), progress=progress,
                warn=reporter.warn,
            )
            for name, spec in (("fit", data.fit), ("test", data.test))
        }  # fmt: skip
        for name, part in parts.items():
            if part.y is None:
                raise BenchError(f"the {name} data ({part.source}) has no labels")
        parts = without_overlap(parts, data.shared_rows, reporter.warn)
        classes, parts = resolve(
            align_classes(parts), model.n_classes, order=data.label_order, given=data.classes,
            warn=reporter.warn,
        )  # fmt: skip
    own = f"selfchecker={taps}" if taps else ""
    chosen = assign_taps(model, [monitor], own, data.preprocess)

    def one(part: Dataset, name: str, tapped: TappedModel) -> Recording:
        with reporter.stage(f"recording {len(part)} {name} rows") as progress:
            return record(
                tapped, part, preprocess=data.preprocess, input=model.input,
                labels=classes.map, scratch=Path(tempfile.mkdtemp(dir=scratch)), workers=workers,
                progress=progress,
            )  # fmt: skip

    parts["test"] = parts["test"].take(np.arange(min(max_rows, len(parts["test"]))))
    sample = parts["fit"].take(np.arange(min(SAMPLE, len(parts["fit"]))))
    model, decision = settled(model, lambda m: one(sample, "first", m.untapped()))
    if decision is not None:
        reporter.note(str(decision))
    tapped = model.with_taps(chosen, scratch / model.tapped_name)
    fit, test = (one(parts[name], name, tapped) for name in ("fit", "test"))
    return fit, test


def _curve(
    name: str, x: Floats, fit: Recording, test: Recording, rows: RowParts, most_kb: int
) -> Curve:
    assert fit.labels is not None
    labels = fit.labels[rows.density]
    density, validation, held_out = x[rows.density], x[rows.validation], test.features(name)
    exact = LayerDensities(fit.n_classes).fit(density, labels)
    exact_test = exact.classes(held_out)
    half = LayerDensities(fit.n_classes).fit(density[::2], labels[::2])
    candidates = LayerCandidates(
        fit.tap(name), density, labels, fit.n_classes, x[rows.judged], exact.classes(x[rows.judged])
    )
    return Curve(
        name, x.shape[1], validation, held_out, exact.classes(validation), exact_test,
        {form: candidates.within(KILOBYTE * most_kb, (form,)) for form in FORMS},
        {
            "bytes": density[::2].size,
            "agreement": float((half.classes(held_out) == exact_test).mean()),
        },
    )  # fmt: skip


def _alarm(
    curves: list[Curve], held_out: Recording, test: Recording, monitor: SelfCheckerMonitor,
    sizes_kb: Sequence[int],
) -> dict[str, Any]:  # fmt: skip
    """Alarms of exact classes, and of the compact ones of the same layers."""
    assert held_out.labels is not None
    predicted, labels, wrong = held_out.predicted, held_out.labels, ~test.correct

    def alarm(validation: list[Array], rows: list[Array]) -> Bools:
        checker = SelfChecker(test.n_classes, monitor.rule)
        checker.fit(np.stack(validation, axis=1), predicted, labels)
        return np.asarray(checker.verdicts(np.stack(rows, axis=1), test.predicted) > 0)

    # As the monitor does, by compact classes; here by the best that any size gives.
    largest = [max(itertools.chain(*c.by_form.values()), key=lambda v: v.agreement) for c in curves]
    wanted = choose_layers(
        [_classes(v, c.validation) for v, c in zip(largest, curves, strict=True)],
        predicted, labels, SelfChecker(test.n_classes, monitor.rule), monitor.max_layers,
    )  # fmt: skip
    chosen = [curves[i] for i in wanted]
    exact = alarm([c.exact_validation for c in chosen], [c.exact_test for c in chosen])
    points = []
    for kb in sizes_kb:
        options = [
            frontier(
                v for found in c.by_form.values() for v in found if v.size_bytes <= KILOBYTE * kb
            )
            for c in chosen
        ]
        if not all(options) or sum(o[0].size_bytes for o in options) > KILOBYTE * kb:
            continue
        forms = allocate(options, KILOBYTE * kb)
        pairs = list(zip(chosen, forms, strict=True))
        compact = alarm(
            [_classes(v, c.validation) for c, v in pairs], [_classes(v, c.test) for c, v in pairs]
        )
        found = _quality(measure(compact, wrong))
        both = None not in (found["mcc"], measure(exact, wrong).mcc)
        points.append(
            {
                "kb": kb,
                "bytes": sum(v.size_bytes for v in forms),
                "forms": [v.density.form for v in forms],
                **found,
                "difference": found["mcc"] - measure(exact, wrong).mcc if both else None,
                "difference_interval": mcc_difference_interval(compact, exact, wrong),
            }
        )
    return {
        "rule": monitor.rule,
        "layers": [c.tap for c in chosen],
        "exact": _quality(measure(exact, wrong)),
        "compact": points,
    }


def _quality(found: Metrics) -> dict[str, Any]:
    return {
        "mcc": found.mcc,
        "mcc_interval": found.mcc_interval,
        "false_alarm_rate": found.fpr,
        "missed": None if found.tpr is None else 1 - found.tpr,
    }


def _within(found: list[DensityCandidate], kb: int) -> DensityCandidate | None:
    fitting = [c for c in found if c.size_bytes <= KILOBYTE * kb]
    return max(fitting, key=lambda c: c.agreement) if fitting else None


def _classes(candidate: DensityCandidate, x: Floats) -> Array:
    return np.asarray(candidate.density.log_densities(x).argmax(axis=1))


def _value(x: float | None) -> str:
    return "n/a" if x is None else f"{x:.3f}"
