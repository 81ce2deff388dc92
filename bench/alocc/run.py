"""``edgemon alocc train``: a companion of a classifier, from labelled rows."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.alocc.companions import NAME
from edgemon.bench.alocc.export import Ends, companion
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


@dataclass(frozen=True, eq=False)
class Lesson:
    """Images (n, h, w, c) in [0, 1] with their classes (n,) and groups, of a model of ``count``
    classes; ``ends``: what 0 and 1 are in its input; ``scores``: dtype and shape of its output."""

    x: npt.NDArray[np.float32]
    y: npt.NDArray[np.int64]
    groups: npt.NDArray[Any] | None
    count: int
    ends: Ends
    scores: tuple[str, tuple[int, int]]


def run(
    model_path: Path, data: str, out: Path, plan: Any, reading: Reading, *, group: str | None,
    per_class: bool, reporter: Reporter,
) -> dict[str, Any]:  # fmt: skip
    """The document of ``alocc train``. ``out``: a file, or a folder with a file a class."""
    require_tensorflow()
    if out.exists():
        raise BenchError(f"{out} is there already: remove it, or choose another --out")
    if not out.parent.is_dir():
        raise BenchError(f"{out}: there is no folder {out.parent}")
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch:
        lesson = _read(model_path, data, reading, group, Path(scratch), reporter)
        start = time.perf_counter()
        kept: dict[str, bytes] = {}
        trained: list[dict[str, Any]] = []
        left_out: list[int] = []
        for c in range(lesson.count) if per_class else [None]:
            try:
                content, about = _trained(lesson, c, plan, reporter)
            except BenchError:
                if c is None:
                    raise
                left_out.append(c)
                continue
            kept[out.name if c is None else NAME.format(c)] = content
            trained.append(about)
        seconds = time.perf_counter() - start
    if left_out:
        reporter.warn(
            f"classes without a companion, for want of rows: {', '.join(map(str, left_out))}; "
            "their answers always count as suspicious"
        )
    _write(out, kept, per_class=per_class)
    return {
        "plan": asdict(plan), "per_class": per_class, "trained": trained, "left_out": left_out,
        "bytes": sum(map(len, kept.values())), "seconds": round(seconds, 1),
    }  # fmt: skip


def _read(
    model_path: Path, data: str, reading: Reading, group: str | None, scratch: Path,
    reporter: Reporter,
) -> Lesson:  # fmt: skip
    with reporter.stage("opening the model"):
        model = open_model(model_path, scratch)
        model.require_classifier()
    with reporter.stage("reading the data"):
        pictures = Pictures.of(reading.preprocess, model.input)
        rows = load(data, scratch, pictures=pictures, group=group, warn=reporter.warn)
        if rows.y is None:
            raise BenchError(f"{data}: alocc learns from labelled rows, and these have no labels")
        classes, parts = resolve(
            {"data": rows}, model.n_classes, order=reading.label_order,
            given=reading.classes, of_model=model.class_names, warn=reporter.warn,
        )  # fmt: skip
        rows = parts["data"]
        codes = inputs(rows, reading.preprocess, model.input)
        (image,) = next(rows.blocks(1))
        ends = ends_of(image, reading.preprocess, model.input)
    output = model.graph.tensors[model.graph.outputs[0]]
    return Lesson(
        ends.unit(real(codes, model.input)), to_classes(np.asarray(rows.y), classes.map),
        None if rows.groups is None else np.asarray(rows.groups), model.n_classes, ends,
        (output.dtype, (1, model.n_classes)),
    )  # fmt: skip


def _trained(
    lesson: Lesson, c: int | None, plan: Any, reporter: Reporter
) -> tuple[bytes, dict[str, Any]]:
    """The companion of class ``c``, None for that of all, and how it learned."""
    from edgemon.bench.alocc import training

    own = np.arange(len(lesson.x)) if c is None else np.flatnonzero(lesson.y == c)
    chosen = lesson.y[own] if c is None else np.zeros(len(own), np.int64)
    with reporter.stage("training" if c is None else f"training class {c}") as progress:
        found = training.train(
            lesson.x[own], chosen, None if lesson.groups is None else lesson.groups[own],
            lesson.count if c is None else 1, plan, progress,
        )  # fmt: skip
    with reporter.stage("converting to int8"):
        content = companion(
            found.network, lesson.ends, lesson.x[own], chosen, lesson.scores if c is None else None
        )
    return content, {
        "class": c, "rows": found.rows, "validation_rows": found.validation_rows,
        "epochs": len(found.errors), "best_epoch": found.best + 1,
        "validation_error": found.errors[found.best],
    }  # fmt: skip


def _write(out: Path, kept: Mapping[str, bytes], *, per_class: bool) -> None:
    """All files, or none."""
    partial = out.with_name(f"{out.name}.partial")
    if per_class:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
    for file, content in kept.items():
        (partial / file if per_class else partial).write_bytes(content)
    partial.replace(out)
