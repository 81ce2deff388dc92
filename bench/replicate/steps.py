"""A method in one form on one data set, as a step of a sweep: analysis, then inference, each in a
child process that is measured."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from edgemon.bench.errors import BenchError
from edgemon.bench.replicate import process
from edgemon.bench.replicate.job import PHASES, Job
from edgemon.bench.replicate.study import SPLITS, DatasetEntry, Study
from edgemon.bench.sweep import content

COMMAND = (sys.executable, "-P", "-m", "edgemon.bench.replicate.job")
COSTS = "costs.json"
FORMAT = "1"  # of what is stored

Document = dict[str, Any]


@dataclass(frozen=True)
class MethodStep:
    """``description``: the study's file; ``store``: the folder that gets a folder of verdict files
    and costs by key."""

    description: Path
    study: Study
    dataset: str
    method: str
    form: str
    drop_repeated: bool
    store: Path

    @cached_property
    def key(self) -> str:
        entry = self.study.dataset(self.dataset)
        files = [self.study.root / name for name in _files(entry)]
        of = (FORMAT, entry, self.method, self.form, self.drop_repeated)
        return content.key(of, files)

    @property
    def file(self) -> Path:
        return self.store / self.key / COSTS


def do(step: MethodStep) -> list[Document]:
    """The costs of both phases, with the models that are left out; verdict files lie beside
    ``step.file`` then."""
    if step.file.is_file():
        found: list[Document] = json.loads(step.file.read_text(encoding="utf-8"))
        return found
    folder = step.file.parent
    partial = folder.with_name(f"{folder.name}.{os.getpid()}")
    with tempfile.TemporaryDirectory(prefix="edgemon-") as states:
        try:
            costs = [_phase(step, phase, partial, states) for phase in PHASES]
            (partial / COSTS).write_text(json.dumps(costs), encoding="utf-8")
            shutil.rmtree(folder, ignore_errors=True)  # without costs it is of no use
            partial.replace(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    return costs


def do_and_store(step: MethodStep) -> str:
    """In another process."""
    do(step)
    return ""


def _phase(step: MethodStep, phase: str, out: Path, states: str) -> Document:
    out.mkdir(parents=True, exist_ok=True)
    job = Job(
        str(step.description.resolve()), str(step.study.root.resolve()), step.dataset, step.method,
        step.form, phase, str(out.resolve()), states, step.drop_repeated,
    )  # fmt: skip
    used = process.measure(COMMAND, job.to_json())
    if used.returncode:
        raise BenchError(
            f"{step.method} ({step.form}) on {step.dataset}, {phase}: "
            + (used.complaint or f"ended with code {used.returncode}")
        )
    said = json.loads(used.output.splitlines()[-1])
    models = step.study.dataset(step.dataset).models
    return {
        "dataset": step.dataset, "tool": step.method, "form": step.form, "phase": phase,
        "models": len(models), "duration_s": used.duration_s,
        "duration_a_model_s": used.duration_s / len(models),
        # Of itself a job knows the peak: it may have been too short to be sampled.
        "peak_mib": max(used.peak_mib, said["peak_bytes"] / process.MIB),
        "left_out": said["left_out"],
    }  # fmt: skip


def _files(entry: DatasetEntry) -> Iterator[str]:
    """What an entry names."""
    yield from (entry.model_file.format(model=model) for model in entry.models)
    for name in (entry.x, entry.y) if entry.x else ():
        yield from (name.format(split=split) for split in SPLITS)
    yield from filter(None, (entry.source, entry.unseen, entry.unseen_y, entry.preconditions,
                             entry.unseen_preconditions))  # fmt: skip
