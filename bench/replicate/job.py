"""One method's analysis or inference on one data set, in a process of its own.

``python -m edgemon.bench.replicate.job`` reads a ``Job`` as JSON from standard input. Analysis
writes a state a model, inference reads it and writes a verdict file a monitor and model.
"""

from __future__ import annotations

import json
import pickle
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

from edgemon.bench import verdicts
from edgemon.bench.errors import BenchError
from edgemon.bench.memory import peak_memory
from edgemon.bench.replicate.shipped import Bundle
from edgemon.bench.replicate.study import Study
from edgemon.bench.replicate.subject import Subject
from edgemon.bench.replicate.tools import ANALYSES, INFERENCES
from edgemon.runtime.errors import EdgemonError

PHASES = ("analyse", "infer")


@dataclass(frozen=True)
class Job:
    """``out`` gets the verdict files; ``states``, the run's own folder, the pickled states."""

    study: str
    root: str
    dataset: str
    method: str
    form: str
    phase: str
    out: str
    states: str
    drop_repeated: bool = False

    def to_json(self) -> str:
        return json.dumps(asdict(self))


def verdict_file(out: Path, form: str, monitor: str, model: str) -> Path:
    """Where a monitor's verdicts on a model's test rows are."""
    return out / "verdicts" / form / monitor / f"{model}.csv"


def run(job: Job) -> dict[str, str]:
    """Do it for every model of the data set. Returns the models that have no bundle, and why."""
    left_out: dict[str, str] = {}
    study = Study.read(Path(job.study), Path(job.root))
    key = (job.method, job.form)
    for model in study.dataset(job.dataset).models:
        case = Subject.load(study, job.dataset, model, drop_repeated=job.drop_repeated)
        state_file = Path(job.states) / f"{job.method}.{job.form}.{model}.pickle"
        if job.phase == PHASES[0]:
            found = ANALYSES[key](case)
            if isinstance(found, Bundle) and found.left_out:
                left_out[model] = found.left_out
            state_file.write_bytes(pickle.dumps(found))
            continue
        state = pickle.loads(state_file.read_bytes())
        for monitor, answer in INFERENCES[key](case, state).items():
            path = verdict_file(Path(job.out), job.form, monitor, model)
            path.parent.mkdir(parents=True, exist_ok=True)
            labels = case.test.rows.y
            verdicts.write(path, labels, answer.predicted, answer.verdict, answer.score)
    return left_out


def main() -> int:
    """Errors become one sentence on standard error. The last word is the peak of memory, and what
    was left out."""
    try:
        with peak_memory() as peak:
            left_out = run(Job(**json.loads(sys.stdin.read())))
    except EdgemonError as error:
        print(error, file=sys.stderr)
        return BenchError.exit_code
    print(json.dumps({"peak_bytes": peak.bytes or 0, "left_out": left_out}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
