"""What the gradient of ODIN is worth: the area under the curve of novelty and of own errors, by
step, beside the scores that need no gradient; and the bytes and time of the companion."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.metrics import roc_auc_score

from edgemon.compiler.data.classes import label_map, to_classes
from edgemon.compiler.errors import CompileError
from edgemon.compiler.float_model import require_agreement
from edgemon.compiler.models import open_model, tap_rules
from edgemon.compiler.models.model import Model
from edgemon.compiler.models.selection import Selection
from edgemon.compiler.monitors.odin import GradientOdinMonitor, codes_of, open_source
from edgemon.compiler.monitors.output_scores import TEMPERATURES
from edgemon.runtime.classifier import Classifier
from edgemon.runtime.companions import Companion
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.preprocess import Preprocess, to_input
from edgemon.runtime.views import ODIN

STEPS = (0.0, 0.0005, 0.0014, 0.0025, 0.005)
Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Rows:
    """Images and labels of which the model knows the classes, images of which it does not, and
    rows for the temperature of msp_t."""

    known: Array
    labels: Array
    novel: Array
    fit: Array
    fit_labels: Array

    @classmethod
    def of(cls, known: Path, novel: Path, count: int) -> Rows:
        """The first ``count`` of each file, and the last ``count`` of the known for the fit."""
        with np.load(known) as file:
            x, y = file["x"], file["y"]
        with np.load(novel) as file:
            other = file["x"]
        if len(x) < 2 * count or len(other) < count:
            raise CompileError(f"--rows {count}: {known} has {len(x)} rows, {novel} {len(other)}")
        return cls(x[:count], y[:count], other[:count], x[-count:], y[-count:])


def study(
    path: Path, source: Path | None, rows: Rows, preprocess: Preprocess, order: str = "numeric"
) -> dict[str, Any]:
    """Of a model; ``source``: the float one of an integer model; ``order`` of its classes, as of
    ``label_map``. Raises EdgemonError, also where it is right at chance level."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        model = open_model(path, Path(name), Selection())
        tensors = tap_rules.choose(model.graph, "logits")
        tapped = model.with_taps(tensors, Path(name) / model.tapped_name)
        kernels = model.kernels("xnnpack")
        classifier = open_classifier(tapped.path, threads=1, kernels=kernels)
        (tap,) = tapped.taps
        at = tapped.positions[0]

        def logits(images: Array, step: Companion | None = None) -> Array:
            found = []
            for image in images:
                x = to_input(image, preprocess, classifier.input)
                if step is not None:
                    step.run(x)
                    x = step.made()
                classifier.invoke(x)
                z = np.array(classifier.output(at), np.float64).ravel()
                found.append((z - tap.zero_point) * tap.scale if tap.scale else z)
            return np.stack(found)

        plain = [logits(x) for x in (rows.known, rows.novel, rows.fit)]
        agreement = (
            None if source is None else _agreement(source, model, plain[2], rows, preprocess)
        )
        labels, fit_labels = (
            to_classes(y.astype(np.int64), label_map(model.n_classes, order))
            for y in (rows.labels, rows.fit_labels)
        )
        wrong = plain[0].argmax(axis=1) != labels
        _require_both(wrong, model.n_classes)
        measured = [{"monitor": "odin_t", **_areas(_odin, plain[0], plain[1], wrong)}]
        t = _temperature(plain[2], fit_labels)
        measured.append({
            "monitor": "msp_t",
            **_areas(lambda z: 1 - softmax(z / t, axis=1).max(axis=1), plain[0], plain[1], wrong),
        })  # fmt: skip
        for eps in STEPS:
            row: dict[str, Any] = {"monitor": "odin", "eps": eps}
            estimator = GradientOdinMonitor(
                eps=eps, float_model="" if source is None else str(source)
            )
            try:
                content = estimator.companion(model, preprocess)
            except CompileError as error:
                measured.append({**row, "refused": str(error)})
                continue
            made = open_classifier(
                Path(f"odin{path.suffix}"), threads=1, kernels=kernels, content=content
            )
            step = Companion(ODIN, made, classifier, path)
            moved = [logits(x, step) for x in (rows.known, rows.novel)]
            x = to_input(rows.known[0], preprocess, classifier.input)
            measured.append({
                **row, **_areas(_odin, moved[0], moved[1], wrong), "bytes": len(content),
                "companion_us": _us(made, x), "model_us": _us(classifier, x),
            })  # fmt: skip
    return {
        "rows": len(rows.known), "wrong": int(wrong.sum()), "agreement": agreement,
        "monitors": measured,
    }  # fmt: skip


def _require_both(wrong: npt.NDArray[np.bool_], n_classes: int) -> None:
    right = int((~wrong).sum())
    if right <= len(wrong) / n_classes:
        raise CompileError(
            f"odin-study: {right} of {len(wrong)} rows are classified rightly, which is chance "
            "level: check --preprocess, --label-order and the data"
        )
    if right == len(wrong):
        raise CompileError(
            f"odin-study: all {right} rows are classified rightly: give more --rows, for own errors"
        )


def _agreement(
    path: Path, model: Model, own: Array, rows: Rows, preprocess: Preprocess
) -> float:  # fmt: skip
    """How often the float model answers as the model does, whose logits of the fit rows are
    ``own``. Raises CompileError if it is seldom."""
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        source = open_source(path, model, Path(name))
        classifier = open_classifier(source.path, threads=1, kernels=source.kernels("xnnpack"))
        reals, answers = codes_of(model).reals(preprocess), []
        for image in rows.fit:
            classifier.invoke(to_input(image, reals, source.input))
            answers.append(np.argmax(classifier.output(0)))
    share = float(np.mean(own.argmax(axis=1) == answers))
    require_agreement(path, share, len(answers))
    return share


def table(found: dict[str, Any]) -> Iterator[str]:
    """The figures as lines of Markdown."""
    yield f"{found['rows']} rows of each, of which {found['wrong']} are classified wrongly"
    if 2 * found["wrong"] > found["rows"]:
        yield "these are more than half: check --preprocess and --label-order"
    if found["agreement"] is not None:
        yield f"the float model answers as the model on {found['agreement']:.1%} of the fit rows"
    yield "| score | AUROC of novelty | of own errors | companion, bytes | us | model, us |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in found["monitors"]:
        name = row["monitor"] + (f", eps {row['eps']:g}" if "eps" in row else "")
        if "refused" in row:
            yield f"| {name} | refused: {row['refused'].split(': ', 1)[1]} | | | | |"
            continue
        cost = " | | |"
        if "bytes" in row:
            cost = f" {row['bytes']:,} | {row['companion_us']:.0f} | {row['model_us']:.0f} |"
        yield f"| {name} | {row['novelty']:.3f} | {row['own_errors']:.3f} |{cost}"


def _odin(z: Array) -> Array:
    found: Array = z.sum(axis=1) - z.shape[1] * z.max(axis=1)
    return found


def _areas(score: Any, known: Array, novel: Array, wrong: Array) -> dict[str, float]:
    own, other = score(known), score(novel)
    is_novel = np.repeat([0, 1], [len(own), len(other)])
    return {
        "novelty": float(roc_auc_score(is_novel, np.concatenate([own, other]))),
        "own_errors": float(roc_auc_score(wrong, own)),
    }


def _temperature(z: Array, labels: Array) -> float:
    def loss(log_t: float) -> float:
        found = log_softmax(z / np.exp(log_t), axis=1)[np.arange(len(z)), labels]
        return float(-found.mean())

    low, high = np.log(TEMPERATURES)
    return float(np.exp(minimize_scalar(loss, bounds=(low, high), method="bounded").x))


def _us(model: Classifier, x: Array, rounds: int = 100) -> float:
    """Least time of an inference, in microseconds."""
    found = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        model.invoke(x)
        found.append(time.perf_counter_ns() - start)
    return min(found) / 1e3
