"""The race: every contestant answers the same rows, interleaved; the fastest round counts."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.bench.errors import BenchError
from edgemon.bench.peers import op_race
from edgemon.bench.peers.contestants import FORESTS, OWN
from edgemon.bench.peers.forests import works
from edgemon.bench.peers.native import Native, build
from edgemon.bench.peers.work import (
    Contestant,
    Function,
    Integers,
    NotInstalledError,
    Work,
    sentence,
)
from edgemon.compiler.reporter import Progress, unseen
from edgemon.compiler.terminal import Terminal

ROUNDS = 40
WORKS = ("forests", *op_race.KINDS)
PYTHON_ROWS = 8  # of a round, of contestants that take a call of Python a row


@dataclass(frozen=True, eq=False)
class Runner:
    """A contestant at the start."""

    name: str
    made: Native | Function
    work: Work

    def answers(self, rows: int | None = None) -> Integers:
        if isinstance(self.made, Native):
            return self.made.answers()
        judged = self.work.rows[:rows]
        return np.array([self.made.call(judged[i : i + 1]) for i in range(len(judged))], np.int32)

    def nanoseconds(self) -> float:
        """Of a row, over one round."""
        start = time.perf_counter_ns()
        found = self.answers(PYTHON_ROWS)
        return (time.perf_counter_ns() - start) / len(found)


def race(
    rounds: int = ROUNDS, progress: Progress = unseen, only: Sequence[str] = ()
) -> dict[str, Any]:
    """The document of ``bench --peers``: for each work a line a contestant.

    ``only``: names of WORKS, empty for all. Raises BenchError for another name.
    """
    unknown = [name for name in only if name not in WORKS]
    if unknown:
        raise BenchError(f"bench --only {unknown[0]}: the works are {', '.join(WORKS)}")
    chosen = only or WORKS
    done: list[dict[str, Any]] = []
    for work in works() if "forests" in chosen else ():
        progress(len(done), 0)
        done.append(one(work, FORESTS, rounds))
    kinds = [kind for kind in op_race.KINDS if kind in chosen]
    return {"rounds": rounds, "works": done, "ops": op_race.race(kinds, rounds, progress)}


def one(work: Work, contestants: Iterable[Contestant], rounds: int) -> dict[str, Any]:
    """The lines of one work."""
    runners: list[Runner] = []
    absent: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory() as folder:
        for i, contestant in enumerate(contestants):
            try:
                made = contestant.make(work)
                ready = (
                    made
                    if isinstance(made, Function)
                    else build(made, work.rows, Path(folder) / str(i))
                )
                runners.append(Runner(contestant.name, ready, work))
            except (ImportError, NotInstalledError, BenchError, ValueError) as error:
                absent.append({"name": contestant.name, "why": sentence(error)})
        answers = [r.answers() for r in runners]
        fastest = np.full(len(runners), np.inf)
        for turn in range(rounds):
            order = range(len(runners))
            for k in order if turn % 2 == 0 else reversed(order):
                fastest[k] = min(fastest[k], runners[k].nanoseconds())
        own = dict(zip((r.name for r in runners), fastest, strict=True)).get(OWN, np.nan)
        lines = [
            {
                "name": r.name,
                "ns": round(float(ns), 1),
                "edgemon_to_it": None if np.isnan(own) else round(float(own / ns), 4),
                "right": int((given == work.answers).sum()),
                "rows": len(work.answers),
                "instructions": r.made.instructions() if isinstance(r.made, Native) else None,
                "bytes": r.made.bytes,
            }
            for r, ns, given in zip(runners, fastest, answers, strict=True)
        ]
    return {"work": work.name, "contestants": lines, "absent": absent}


def show(terminal: Terminal, document: dict[str, Any]) -> None:
    """The tables for people."""
    for work in document["works"]:
        terminal.table(
            ("contestant", "ns a row", "edgemon to it", "as scikit-learn", "instructions", "bytes"),
            [
                (
                    c["name"], c["ns"], c["edgemon_to_it"], f"{c['right']} of {c['rows']}",
                    None if c["instructions"] is None else round(c["instructions"]), c["bytes"],
                )
                for c in work["contestants"]
            ],
            title=f"forest, {work['work']}, 64 features",
        )  # fmt: skip
        for left_out in work["absent"]:
            terminal.note(f"{left_out['name']} did not take part: {left_out['why']}")
    if document["works"]:
        terminal.note(
            f"Times are minima of {document['rounds']} interleaved rounds, gcc -O3, one row a "
            "call; edgemon's include all of em_evaluate. Bytes: of edgemon the artifact, without "
            "the runtime that all artifacts share; of the others the object's code and constants, "
            "or the model file."
        )
    op_race.show(terminal, document)
