"""edgemon as a contestant: the forest as a program, its artifact, and the C runtime."""

from __future__ import annotations

import importlib.util
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from edgemon.bench.latency import NO_MODEL
from edgemon.bench.peers.work import CSource, NotInstalledError, Work
from edgemon.compiler.emit import flat
from edgemon.compiler.program.forest import Forest
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.quantise import quantise

UNIT = 1 << 14  # of the whole numbers that leaves hold
RUNTIME = Path(__file__).resolve().parents[2] / "runtime" / "c"


def program(model: Any, features: int, *, early_exit: bool = False) -> Program:
    """The device program whose predicted class is the forest's answer."""
    trees = [t.tree_ for t in model.estimators_]
    shares = [t.value[:, 0, :] / t.value[:, 0, :].sum(axis=1, keepdims=True) for t in trees]
    builder = Builder([Tap("x", "float32", features, 1.0)], real=True)
    if len(model.classes_) == 2:
        values = [np.rint((s[:, 1] - 0.5) * UNIT) for s in shares]
        forest = Forest.from_sklearn(trees, values)
        score = builder.node("trees", 0, tables=forest.pack("float64"))
        chosen = builder.node("exceeds", score, tables=[np.zeros(1)])
    else:
        forest = Forest.from_sklearn(trees, [np.rint(s * UNIT) for s in shares])
        score = builder.node("trees", 0, tables=forest.pack("float64"))
        chosen = builder.node("argmax", score)
    real = builder.program(chosen, [Monitor("class", chosen, 1e6, 1e6)])
    return quantise(real, early_exit=early_exit)


def own(work: Work, *, early_exit: bool = False) -> CSource:
    """The whole of ``em_evaluate`` a row: checks of the tap, the trees, the verdict."""
    made = program(work.model, work.rows.shape[1], early_exit=early_exit)
    artifact = flat.write(flat.Artifact(made, NO_MODEL, {}))
    with tempfile.TemporaryDirectory() as folder:
        _amalgamate().amalgamate(Path(folder))
        files = {n: (Path(folder) / n).read_text() for n in ("edgemon.c", "edgemon.h")}
    files["artifact.h"] = ",".join(map(str, artifact))
    text = f"""
#define EM_API static
#include "edgemon.c"
static _Alignas(16) const uint8_t artifact[] = {{
#include "artifact.h"
}};
static uint64_t workspace[65536];
static em_monitor monitor;
int32_t answer(const float *x) {{
    if (monitor.file == NULL && em_open(&monitor, artifact, sizeof artifact) != EM_OK) return -2;
    const em_tap tap = {{.data = x, .dtype = EM_F32, .length = {work.rows.shape[1]}}};
    em_result result;
    em_evaluate(&monitor, &tap, 1, workspace, sizeof workspace, &result);
    return result.predicted_class;
}}
"""
    return CSource(text, files=files, bytes=len(artifact))


def _amalgamate() -> ModuleType:
    """The module that writes the runtime as one file."""
    path = RUNTIME / "amalgamate.py"
    spec = importlib.util.spec_from_file_location("amalgamate", path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise NotInstalledError("the sources of the C runtime are not beside the package")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
