"""``edgemon.compile``: what the command ``compile`` does, for objects."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.api.bundle import Bundle
from edgemon.compiler.api.frames import as_rows, in_order, names_of
from edgemon.compiler.api.models import ModelFile, as_file
from edgemon.compiler.api.requirements import Warner, gates_of
from edgemon.compiler.bundle import bundle as opened
from edgemon.compiler.commands import gates as shown
from edgemon.compiler.commands.summary import show_compiled
from edgemon.compiler.data.loading import Dataset
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.errors import CompileError
from edgemon.compiler.gates.judging import judge, require_comparable
from edgemon.compiler.gates.line import require as met
from edgemon.compiler.gates.verdicts import Verdicts
from edgemon.compiler.models.selection import Selection
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.terminal import Terminal
from edgemon.runtime.preprocess import Preprocess


def compile(
    model: Any,
    X: Any = None,  # noqa: N803 - as everywhere in the field
    y: Any = None,
    *,
    fit: Any = None,
    calibrate: Any = None,
    test: Any = None,
    monitor: str = Options.monitors,
    false_alarm: float = FalseAlarmPromise.rate,
    confidence: float = FalseAlarmPromise.confidence,
    preprocess: str = "",
    classes: Sequence[str] | None = None,
    require: str = "",
    baseline: Bundle | Path | str | None = None,
    verbose: bool = False,
    **options: Any,
) -> Bundle:
    """Fits monitors to a classifier, proves them, and returns the bundle.

    Args:
        model: a path, bytes of TFLite or ONNX, an ONNX ``ModelProto``, a Keras model, or a fitted
            scikit-learn classifier (through skl2onnx).
        X: rows or images (n, ...): an array, a frame of pandas or polars, or, without ``y``, what
            ``compile --data`` takes (a file, a folder of images by class).
        y: labels (n,), numbers or names.
        fit: instead of ``X`` and ``y``, parts of one's own: a pair (X, y), or what ``--fit`` takes.
        calibrate: the same to set thresholds on.
        test: the same to measure on.
        monitor: as ``--monitor`` takes it.
        false_alarm: as ``--false-alarm`` takes it, and so on.
        confidence: of the promise.
        preprocess: what is done to rows before the model, as ``scale=1/255``.
        classes: names of the model's classes, in its order.
        require: what the bundle must be worth on the test rows, or RequirementError is raised and
            there is none: as ``--require`` takes it, ``"caught>=0.4,false_alarms<=0.05,kb<=16"``.
        baseline: another bundle, or its folder: accuracy and the alarms' MCC must not be clearly
            lower than its own on the same rows.
        verbose: show progress, tables and notes. Warnings are always given, as ``EdgemonWarning``.
        options: further ones, fields of ``compiler.options.Options``, as ``budget_kb=16``, or
            ``examples=False`` for private data, of which the report then shows no row.

    Raises EdgemonError in one sentence, as the command does.
    """
    given = _options(options)
    gates = gates_of(require, baseline)
    parts = {"data": (X, y), "fit": fit, "calibrate": calibrate, "test": test}
    named = {name: p for name, p in parts.items() if p is not None and name != "data"}
    if X is not None:
        named["data"] = parts["data"]
    reporter = Terminal() if verbose else Warner()
    with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name:
        scratch = Path(scratch_name)
        file = as_file(model, max(map(_width, named.values()), default=0), scratch)
        names = next((found for part in named.values() if (found := _names(part))), None)
        sources = Sources(
            **{n: _source(part, n, scratch, file, names) for n, part in named.items()}
        )  # fmt: skip
        known = file.classes if classes is None else classes
        wanted = replace(
            given, monitors=monitor, promise=FalseAlarmPromise(false_alarm, confidence),
            preprocess=Preprocess.parse(preprocess),
            classes=None if known is None else tuple(str(c) for c in known),
            selection=Selection.parse(file.output, ()) if file.output else given.selection,
        )  # fmt: skip
        out = scratch / "bundle"

        def accept(folder: Path, rows: Dataset, own: Verdicts, room: Path) -> None:
            lines = judge(
                gates, opened.Bundle.open(folder), rows, room, own=own, workers=wanted.workers,
                reporter=reporter,
            )  # fmt: skip
            if isinstance(reporter, Terminal):
                shown.show(reporter, lines)
            met(lines)

        manifest = compile_bundle(
            file.path, sources, out, wanted, reporter, accept if gates else None,
            partial(require_comparable, gates),
        )  # fmt: skip
        if isinstance(reporter, Terminal):
            show_compiled(reporter, out, manifest, verbose=True)
        for finding in () if verbose else manifest["findings"]:
            reporter.warn(finding["text"])
        return Bundle.copied(out)


def _options(given: dict[str, Any]) -> Options:
    known = [f.name for f in fields(Options)]
    for name in given:
        if name not in known:
            like = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {like[0]}?" if like else f"there are {', '.join(known)}"
            raise CompileError(f"compile has no option {name!r}: {hint}")
    return Options(**given)


def _width(part: Any) -> int:
    """Features of a row, where rows are an array or a frame; 0 else."""
    x = part[0] if isinstance(part, tuple) else None
    return 0 if x is None or isinstance(x, str | Path) else int(as_rows(x).shape[1])


def _names(part: Any) -> tuple[str, ...] | None:
    """Of the columns, if the rows are a frame."""
    return names_of(part[0]) if isinstance(part, tuple) and len(part) == 2 else None


def _source(
    part: Any, name: str, folder: Path, file: ModelFile, names: tuple[str, ...] | None
) -> str:
    """What names the rows: of objects a file that is written for it. Frames have the columns
    ``names``, in that order."""
    if isinstance(part, str | Path):
        return str(part)
    if not isinstance(part, tuple) or len(part) != 2:
        raise CompileError(f"{name}: give a pair (X, y), or a path")
    x, y = part
    if isinstance(x, str | Path):
        if y is not None:
            raise CompileError(f"{name}: {x} brings its own labels, so leave out y")
        return str(x)
    if y is None:
        raise CompileError(f"{name}: rows without labels teach no monitor; give y")
    rows, labels = in_order(x, names, name), np.asarray(y)
    if len(rows) != len(labels):
        raise CompileError(f"{name}: {len(rows)} rows, but {len(labels)} labels")
    if file.classes is not None:
        labels = _positions(labels, file.classes, name)
        rows = rows.astype(np.float32)
    path = folder / f"{name}.npz"
    called: dict[str, Any] = {} if _names(part) is None else {"columns": np.array(names)}
    np.savez(path, x=rows, y=labels.astype(str) if labels.dtype == object else labels, **called)
    return str(path)


def _positions(y: npt.NDArray[Any], classes: npt.NDArray[Any], name: str) -> npt.NDArray[np.int64]:
    order = {value: i for i, value in enumerate(classes.tolist())}
    try:
        return np.array([order[value] for value in y.tolist()], np.int64)
    except KeyError as error:
        raise CompileError(f"{name}: the model has no class {error.args[0]!r}") from None
