"""``edgemon class-sweep``: time, memory and bytes of a compile, by the number of classes.

The models are networks of one hidden layer with random weights, in ONNX; the labels are drawn from
their own softmax, so that they are right more often than not by chance. Each compile runs in a
process of its own, with default options.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import TensorProto, helper, numpy_helper
from scipy.special import softmax

from edgemon.bench.errors import BenchError
from edgemon.compiler.cost.bill import KILOBYTE
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.terminal import Terminal

Array = npt.NDArray[Any]

CLASSES = (2, 10, 43, 200, 1001)
INPUTS, FEATURES, ROWS = 64, 1280, 3000
SHARPNESS = 3.0  # standard deviations of the logits
COMPILE = "from edgemon.compiler.commands.main import main; main()"


@dataclass(frozen=True)
class SweepLine:
    """A compile with default options."""

    classes: int
    accuracy: float
    seconds: float
    peak_bytes: int  # of the process and its largest worker
    artifact_bytes: int
    left_out: tuple[str, ...]  # monitors


def run(
    classes: Sequence[int] = CLASSES, seed: int = 0, progress: Progress = unseen
) -> dict[str, Any]:
    """The JSON document of ``class-sweep --json``. Raises BenchError if a compile fails."""
    lines = []
    for done, count in enumerate(classes):
        with tempfile.TemporaryDirectory(prefix="edgemon-") as name:
            lines.append(_measure(count, Path(name), seed))
        progress(done + 1, len(classes))
    return {
        "rows": ROWS, "features": FEATURES, "lines": [asdict(line) for line in lines],
    }  # fmt: skip


def _measure(classes: int, folder: Path, seed: int) -> SweepLine:
    write_case(folder, classes, np.random.default_rng(seed))
    command = [
        sys.executable, "-c", COMPILE, "compile", str(folder / "model.onnx"),
        "--data", str(folder / "rows.npz"), "--out", str(folder / "bundle"), "--json",
    ]  # fmt: skip
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        raise BenchError(f"compile with {classes} classes failed: {done.stderr.strip()}")
    found = json.loads(done.stdout)
    return SweepLine(
        classes, found["accuracy"], seconds, sum(found["peak_memory_bytes"].values()),
        found["bytes"]["artifact"], tuple(x["monitor"] for x in found["left_out"]),
    )  # fmt: skip


def write_case(folder: Path, classes: int, rng: np.random.Generator) -> None:
    """``model.onnx`` and ``rows.npz`` of so many classes."""
    hidden = rng.normal(0, INPUTS**-0.5, (INPUTS, FEATURES)).astype(np.float32)
    head = rng.normal(0, FEATURES**-0.5, (FEATURES, classes)).astype(np.float32)
    x = rng.normal(size=(ROWS, INPUTS)).astype(np.float32)
    head *= SHARPNESS / (np.maximum(x @ hidden, 0) @ head).std()
    logits = np.maximum(x @ hidden, 0) @ head
    drawn = (np.cumsum(softmax(logits, axis=1), axis=1) < rng.random((ROWS, 1))).sum(axis=1)
    np.savez(folder / "rows.npz", x=x, y=np.minimum(drawn, classes - 1))
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "hidden"], ["sums"]),
            helper.make_node("Relu", ["sums"], ["features"]),
            helper.make_node("MatMul", ["features", "head"], ["logits"]),
            helper.make_node("Softmax", ["logits"], ["y"], axis=1),
        ],
        "random",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", INPUTS])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", classes])],
        [numpy_helper.from_array(v, n) for n, v in (("hidden", hidden), ("head", head))],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, folder / "model.onnx")


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The same as a table."""
    terminal.table(
        ("classes", "accuracy", "seconds", "peak MB", "artifact kB", "left out"),
        [
            (
                line["classes"], round(line["accuracy"], 3), round(line["seconds"], 1),
                round(line["peak_bytes"] / 1e6), round(line["artifact_bytes"] / KILOBYTE, 1),
                ", ".join(line["left_out"]),
            )
            for line in document["lines"]
        ],
        title=f"compile with default options: {document['rows']:,} rows, "
        f"{document['features']:,} features",
    )  # fmt: skip
