"""``edgemon alocc train``: a companion of a classifier, from labelled rows."""

from __future__ import annotations

import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.bench.alocc.companions import NAME
from edgemon.bench.alocc.export import companion
from edgemon.bench.alocc.rows import ends_of, inputs, real
from edgemon.bench.errors import BenchError
from edgemon.compiler.data.classes import resolve, to_classes
from edgemon.compiler.data.images import Pictures
from edgemon.compiler.data.loading import load
from edgemon.compiler.errors import MissingPackageError
from edgemon.compiler.models import open_model
from edgemon.compiler.reporter import Reporter
from edgemon.compiler.trust.judge import Reading

THREADS = 1


def require_tensorflow() -> None:
    """Raises MissingPackageError without it; otherwise one thread."""
    try:
        import tensorflow as tf
    except ImportError:
        raise MissingPackageError(
            "alocc train needs TensorFlow: pip install 'edgemon[keras]'"
        ) from None
    try:
        tf.config.threading.set_intra_op_parallelism_threads(THREADS)
        tf.config.threading.set_inter_op_parallelism_threads(THREADS)
    except RuntimeError:  # it runs already, with the threads that it has
        return


def run(
    model_path: Path, data: str, out: Path, plan: Any, reading: Reading, *, group: str | None,
    per_class: bool, reporter: Reporter,
) -> dict[str, Any]:  # fmt: skip
    """The document of ``alocc train``. ``out``: a file, or a folder with a file a class."""
    require_tensorflow()
    from edgemon.bench.alocc import training

    if out.exists():
        raise BenchError(f"{out} is there already: remove it, or choose another --out")
    if not out.parent.is_dir():
        raise BenchError(f"{out}: there is no folder {out.parent}")
    with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
        scratch = Path(name)
        with reporter.stage("opening the model"):
            model = open_model(model_path, scratch)
            model.require_classifier()
        with reporter.stage("reading the data"):
            pictures = Pictures.of(reading.preprocess, model.input)
            rows = load(data, scratch, pictures=pictures, group=group, warn=reporter.warn)
            if rows.y is None:
                raise BenchError(
                    f"{data}: alocc learns from labelled rows, and these have no labels"
                )
            classes, parts = resolve(
                {"data": rows}, model.n_classes, order=reading.label_order,
                given=reading.classes, of_model=model.class_names, warn=reporter.warn,
            )  # fmt: skip
            rows = parts["data"]
            codes = inputs(rows, reading.preprocess, model.input)
            (image,) = next(rows.blocks(1))
            ends = ends_of(image, reading.preprocess, model.input)
            x = ends.unit(real(codes, model.input))
            y = to_classes(np.asarray(rows.y), classes.map)
        groups = None if rows.groups is None else np.asarray(rows.groups)
        output = model.graph.tensors[model.graph.outputs[0]]
        scores = (output.dtype, (1, model.n_classes))
        kept: dict[str, bytes] = {}
        trained: list[dict[str, Any]] = []
        left_out: list[int] = []
        start = time.perf_counter()
        for c in range(model.n_classes) if per_class else [None]:
            own = np.arange(len(x)) if c is None else np.flatnonzero(y == c)
            said = "training" if c is None else f"training class {c}"
            chosen = y[own] if c is None else np.zeros(len(own), np.int64)
            try:
                with reporter.stage(said) as progress:
                    found = training.train(
                        x[own], chosen, None if groups is None else groups[own],
                        model.n_classes if c is None else 1, plan, progress,
                    )  # fmt: skip
            except BenchError:
                if c is None:
                    raise
                left_out.append(c)
                continue
            with reporter.stage("converting to int8"):
                kept[out.name if c is None else NAME.format(c)] = companion(
                    found.network, ends, x[own], chosen, scores if c is None else None
                )
            trained.append({
                "class": c, "rows": found.rows, "validation_rows": found.validation_rows,
                "epochs": len(found.errors), "best_epoch": found.best + 1,
                "validation_error": found.errors[found.best],
            })  # fmt: skip
        seconds = time.perf_counter() - start
    if left_out:
        reporter.warn(
            f"classes without a companion, for want of rows: {', '.join(map(str, left_out))}; "
            "their answers always count as suspicious"
        )
    if per_class:
        out.mkdir()
    for file, content in kept.items():
        (out / file if per_class else out).write_bytes(content)
    return {
        "plan": asdict(plan), "per_class": per_class, "trained": trained, "left_out": left_out,
        "bytes": sum(map(len, kept.values())), "seconds": round(seconds, 1),
    }  # fmt: skip
