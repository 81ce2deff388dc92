"""Writes the artifact that is kept of the present format version, and what it gives on it.

    python -m tests.runtime.versions.make

once, in the commit that raises the version: MAJOR.MINOR.emon uses every op and every section, and
MAJOR.MINOR.npz holds rows of its taps with the verdicts and scores of the C runtime. Files that
are there are never written again: they are what that version wrote.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.accuracy.table import AccuracyTable
from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.promise.drift.detector import DriftTest
from edgemon.runtime.accuracy import Accuracy
from edgemon.runtime.drift import Drift
from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import CompanionInfo
from edgemon.runtime.monitor import Monitor as LoadedMonitor

HERE = Path(__file__).resolve().parent
ROWS, TESTED, CLASSES = 40, 6, 3


def integers(b: Builder, rng: np.random.Generator, codes: int) -> dict[str, int]:
    """Nodes on int8 codes [12]: their ids by op."""
    ids = {"argmax": b.node("gather", codes, tables=[u32(0, 5, 9)])}
    ids["argmax"] = b.node("argmax", ids["argmax"])
    top = b.node("max", codes)
    below = b.node("sub", codes, top)
    ids["lut"] = b.node("lut", below, tables=[i32(*range(0, 640, 10)), i32(-63)])
    ids["omit"] = b.node("omit", b.node("gather", codes, tables=[u32(1, 2, 3)]), ids["argmax"])
    ids["sum"] = b.node("sum", ids["lut"])
    ids["add"] = b.node("add", ids["sum"], b.node("sum", below))
    ids["reduce"] = b.node("reduce", codes, tables=[u32(4)])
    ids["reduce of groups"] = b.node("sum", b.node("reduce", codes, tables=[u32(2, 2)]))
    ids["deviation"] = b.node("max", b.node("deviation", codes, tables=[u32(4)]))
    weight = rng.integers(-9, 9, 3 * 4).astype(np.int16)
    ids["affine"] = b.node("affine", ids["reduce"], tables=[weight, i32(5, -5, 1)])
    ids["select"] = b.node("select", ids["affine"], ids["argmax"])
    ids["exceeds"] = b.node("exceeds", top, tables=[i32(60)])
    ids["concat"] = b.node("concat", ids["affine"], ids["omit"])
    nodes = u32(0, 1 << 16 | 2, 0x7FFFFFFF, 1 << 16, 0x7FFFFFFF, 2 << 16)
    forest = [nodes, i32(0, 3, -2), u32(0, 1)]
    ids["trees"] = b.node("trees", codes, tables=forest)
    ids["early_trees"] = b.node("early_trees", codes, tables=forest)
    test = [u32(0x80000000 - 9, 0x80000000, 0x80000000 + 12), i16(4, 1, 7), i16(0, 2, 1, 0)]
    perfect = [u32(2, 2), *test, i16(5, -3, 90, 40, -11, 7)]
    ids["perfect_trees"] = b.node("max", b.node("perfect_trees", codes, tables=perfect))
    lower = np.repeat(np.array([-40, -20, -60], np.int8), 12)
    boxes = [lower, lower + np.int8(50), np.full(12, 2, np.int32), u32(0, 1, 2, 3)]
    ids["boxes"] = b.node("boxes", codes, ids["argmax"], tables=boxes)
    patterns = [i32(*[0] * 12), u32(), u32(0xF0F, 0x3C, 0xFFF), u32(0, 1, 2, 3)]
    ids["hamming"] = b.node("hamming", codes, ids["argmax"], tables=patterns)
    ids["clip"] = b.node("clip", codes, tables=[i32(40)])
    return ids


def floats(b: Builder, rng: np.random.Generator, reals: int, ids: dict[str, int]) -> int:
    """Nodes on floats [6], joined to one number."""
    weight = rng.normal(size=6 * 6).astype(np.float32)
    h = b.node("affine", reals, tables=[weight, f32(*[0.25] * 6)])
    parts = [b.node("log", b.node("exp", b.node("clip", h, tables=[f32(3.5)])))]
    centres = rng.integers(-100, 100, CLASSES * 2 * 2).astype(np.int8)
    shape, groups = u32(CLASSES, 2), u32(CLASSES)
    kernels = [shape, centres, f32(0.02), rng.normal(size=6).astype(np.float32)]
    parts.append(b.node("logsumexp", b.node("kernels", h, tables=kernels), tables=[groups]))
    points = rng.normal(size=2 * 6).astype(np.float32)
    parts.append(b.node("distances", h, tables=[points]))
    entries = rng.integers(-500, 500, CLASSES * 6 * 8).astype(np.int16)
    bins = [f32(*[-2] * 6), f32(*[2] * 6), u32(CLASSES, 8), entries]
    parts.append(b.node("to_f32", b.node("tables", h, tables=bins), tables=[f32(0.01), i32(7)]))
    parts.append(b.node("mul", h, b.node("sub", h, b.node("max", h))))
    parts.append(b.node("deviation", h, tables=[u32(2)]))
    joined = parts[0]
    for part in parts[1:]:
        joined = b.node("concat", joined, part)
    scaled = b.node("div", joined, b.node("to_f32", ids["sum"], tables=[f32(0.5), i32(-9)]))
    return b.node("sum", scaled)


def u32(*numbers: int) -> npt.NDArray[np.uint32]:
    return np.array(numbers, np.uint32)


def i16(*numbers: int) -> npt.NDArray[np.int16]:
    return np.array(numbers, np.int16)


def i32(*numbers: int) -> npt.NDArray[np.int32]:
    return np.array(numbers, np.int32)


def f32(*numbers: float) -> npt.NDArray[np.float32]:
    return np.array(numbers, np.float32)


def program() -> Program:
    rng = np.random.default_rng(7)
    mirrored = Tap("codes", "int8", 12, 0.1, -3, view="mirror")
    made = [
        Tap("codes", "int8", 12, 0.1, -3, view="odin"),
        Tap("made", "int8", 5, view="companion"),
    ]
    b = Builder([Tap("codes", "int8", 12, 0.1, -3), Tap("reals", "float32", 6), mirrored, *made])
    ids = integers(b, rng, 0)
    score = floats(b, rng, 1, ids)
    apart = b.node("max", b.node("sub", 2, b.node("max", 0)))
    beside = b.node("max", b.node("concat", 3, b.node("sub", 4, b.node("max", 3))))
    redrawn = b.node("squared_error", 0, 3)
    scores = {"real": score, "wide": ids["add"], "apart": apart, "beside": beside}
    scores |= {"redrawn": redrawn}
    scores |= {
        op: ids[op]
        for op in (
            "boxes", "trees", "hamming", "select", "exceeds", "early_trees", "perfect_trees",
            "deviation",
        )
        if op in ids
    }  # fmt: skip
    return b.program(ids["argmax"], [Monitor(name, i, 0, 0) for name, i in scores.items()])


def judged(made: Program, taps: Sequence[npt.NDArray[Any]]) -> Program:
    """With thresholds that some of these rows exceed."""
    scores = reference.evaluate(made, taps).scores
    ranked = [np.sort(s)[[-3, -9]].tolist() for s in scores]
    pairs = zip(made.monitors, ranked, strict=True)
    return made.with_monitors(
        [replace(m, alarm_above=alarm, uncertain_above=low) for m, (alarm, low) in pairs]
    )


def counted(loaded: LoadedMonitor, found: Evaluation) -> npt.NDArray[np.int64]:
    """The state of the drift test after these rows."""
    drift = Drift(loaded)
    drift.update(found)
    return np.hstack(astuple(drift.state)).astype(np.int64)


def estimated(loaded: LoadedMonitor, found: Evaluation) -> npt.NDArray[np.int64]:
    """The estimate of accuracy after these rows, and again after ten labels."""
    accuracy = Accuracy(loaded)
    accuracy.update(found)
    numbers = [accuracy.estimate()]
    for row in range(10):
        accuracy.label(6000 * row, row % 2 > 0)
    numbers.append(accuracy.estimate())
    return np.array([astuple(n) for n in numbers if n is not None], np.int64)


def main() -> None:
    """Writes the two files of the present version, unless they are there."""
    name = f"{flat.MAJOR}.{flat.MINOR}"
    if (HERE / f"{name}.emon").exists():
        sys.exit(f"{name}.emon is there: it stays what version {name} wrote")
    rng = np.random.default_rng(1)
    made = program()
    codes = [
        rng.normal(0, 35, (ROWS, tap.length)).clip(-128, 127).astype(np.int8)
        for tap in made.taps if tap.dtype == "int8"
    ]  # fmt: skip
    taps = [codes[0], rng.normal(size=(ROWS, 6)).astype(np.float32), *codes[1:]]
    kept = judged(made, taps)
    vectors = tuple(x[:TESTED] for x in taps)
    test = flat.SelfTest(vectors, reference.evaluate(kept, vectors))
    drift = DriftTest(1, np.array([300, 900]), i32(-9000, 0, 30000).reshape(1, 3), 90000, 1000)
    shares = np.array([65535, 50000, 9000, 9000], np.uint16)
    table = AccuracyTable(1, np.array([250, 300, 900]), shares, 500, 400_000_000, 64, 8)
    metadata = {"labels": ["a", "b", "c"]}
    beside = (CompanionInfo("odin", 4000, "cd" * 32), CompanionInfo("companion", 9000, "ef" * 32))
    data = flat.write(flat.Artifact(kept, "ab" * 32, metadata, test, drift, table, beside))
    loaded = LoadedMonitor(data)
    loaded.self_test()
    found = loaded.evaluate(taps)
    (HERE / f"{name}.emon").write_bytes(data)
    np.savez_compressed(
        HERE / f"{name}.npz",
        **{f"tap{i}": x for i, x in enumerate(taps)},
        **{f"score{i}": x for i, x in enumerate(found.scores)},
        verdict=found.verdict, predicted=found.predicted, verdicts=found.verdicts,
        drift=counted(loaded, found), accuracy=estimated(loaded, found),
    )  # fmt: skip


if __name__ == "__main__":
    main()
