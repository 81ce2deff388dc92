"""The race of single ops: all answer the same rows, interleaved; the fastest round counts."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from edgemon.bench.errors import BenchError
from edgemon.bench.peers.op_contestants import Entry, Make, natives, peers
from edgemon.bench.peers.ops import OPS, ROWS, OpWork, works
from edgemon.bench.peers.work import Array, NotInstalledError, sentence
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.terminal import Terminal

KINDS = (*OPS, "kde")
OWN, EMPTY = "edgemon", "edgemon, empty program"
TOLERANCE = 1e-4  # of floats, of a row's largest
BATCH_NS = 20_000.0  # a batch lasts at least so long: a clock takes some tens of ns


def race(kinds: Sequence[str], rounds: int, progress: Progress = unseen) -> list[dict[str, Any]]:
    """For each work of these kinds a line a contestant. Raises BenchError without a C compiler."""
    done: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        in_c = natives(Path(folder)) if kinds else []
        with threadpool_limits(1):
            for kind in kinds:
                for work in works(kind):
                    progress(len(done), 0)
                    done.append(one(work, [*in_c, *peers(kind)], rounds))
    return done


def one(work: OpWork, contestants: Sequence[tuple[str, Make]], rounds: int) -> dict[str, Any]:
    """The lines of one work."""
    entries: dict[str, Entry] = {}
    absent: list[dict[str, str]] = []
    for name, make in contestants:
        try:
            entries[name] = make(work)
        except (ImportError, NotInstalledError, BenchError, ValueError) as error:
            absent.append({"name": name, "why": sentence(error)})
    timers = {name: entry.timer for name, entry in entries.items()}
    passes = {n: max(1, int(BATCH_NS / max(1.0, t.ns(1) * ROWS))) for n, t in timers.items()}
    best = dict.fromkeys(timers, np.inf)
    for turn in range(rounds):
        order = list(timers) if turn % 2 == 0 else list(reversed(timers))
        for name in order:
            best[name] = min(best[name], timers[name].ns(passes[name]))
    for timer in timers.values():
        timer.close()
    empty = best.pop(EMPTY, None)
    own = best.get(OWN)
    lines = [
        {
            "name": name,
            "ns": round(float(ns), 1),
            "edgemon_to_it": None if own is None else round(float(own / ns), 4),
            "right": int(agree(work.answers, entries[name].answers).sum()),
            "rows": len(work.answers),
            "bytes": entries[name].bytes,
        }
        for name, ns in best.items()
    ]
    return {
        "kind": work.kind, "work": work.name, "contestants": lines, "absent": absent,
        "empty_ns": None if empty is None else round(float(empty), 1),
    }  # fmt: skip


def agree(wanted: Array, found: Array) -> Array:
    """(n,): whose row is equal, of floats to TOLERANCE of its largest value."""
    if wanted.dtype.kind != "f":
        return np.asarray((wanted == found).all(axis=1))
    scale = np.abs(wanted).max(axis=1, keepdims=True)
    return np.asarray((np.abs(wanted - found) <= TOLERANCE * scale).all(axis=1))


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The tables for people."""
    for work in document["ops"]:
        terminal.table(
            ("contestant", "ns a row", "edgemon to it", "as the reference", "bytes"),
            [
                (
                    c["name"], c["ns"], c["edgemon_to_it"], f"{c['right']} of {c['rows']}",
                    c["bytes"],
                )
                for c in work["contestants"]
            ],
            title=f"{work['kind']}: {work['work']}",
        )  # fmt: skip
        if work["empty_ns"] is not None:
            terminal.note(f"of edgemon's time, {work['empty_ns']} ns is a program without the op")
        for left_out in work["absent"]:
            terminal.note(f"{left_out['name']} did not take part: {left_out['why']}")
    if document["ops"]:
        terminal.note(
            f"Times are minima of {document['rounds']} interleaved rounds, one row a call, one "
            "thread; edgemon at -O3 includes all of em_evaluate. Whole numbers are equal, "
            f"floats agree to {TOLERANCE:g} of a row's largest value. Bytes: of edgemon the "
            "artifact, of C and NumPy the tables, of ONNX Runtime the model (of boxes: one class)."
        )
