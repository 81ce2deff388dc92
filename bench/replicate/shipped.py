"""A method as ``edgemon compile`` ships it: the bundle, and what its session says of test rows."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from edgemon.bench.replicate.subject import Answer, Part, Subject
from edgemon.compiler.data.repeats import KEEP
from edgemon.compiler.data.sources import Sources
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.runtime.errors import EdgemonError
from edgemon.runtime.session import Session

FILES = ("monitor.emon", "model.tapped.tflite")


@dataclass(frozen=True)
class Bundle:
    """What a device gets, by file name; or why there is none."""

    files: dict[str, bytes]
    left_out: str = ""


def compiled(method: str) -> Callable[[Subject], Bundle]:
    """An analysis that compiles this monitor with the threshold that the method brings; a score
    without one gets the certified one."""

    def analyse(subject: Subject) -> Bundle:
        with tempfile.TemporaryDirectory(prefix="edgemon-") as scratch_name:
            scratch = Path(scratch_name)
            fit, calibrate, test = (
                _written(scratch / f"{name}.npz", part)
                for name, part in (
                    ("fit", subject.train), ("calibrate", subject.val), ("test", subject.test)
                )
            )  # fmt: skip
            options = Options(
                monitors=method, thresholds="guaranteed" if method == "softmax" else "method",
                shared_rows=KEEP, promise=FalseAlarmPromise(), workers=1, drift_run_length=0,
            )  # fmt: skip
            try:
                compile_bundle(
                    subject.model_file,
                    Sources(fit=fit, calibrate=calibrate, test=test),
                    scratch / "out",
                    options,
                )
            except EdgemonError as error:
                return Bundle({}, str(error))
            return Bundle({name: (scratch / "out" / name).read_bytes() for name in FILES})

    return analyse


def judged(subject: Subject, state: Bundle) -> dict[str, Answer]:
    """Verdicts of the C runtime beside the model, as on a device; none without a bundle."""
    if state.left_out:
        return {}
    with tempfile.TemporaryDirectory(prefix="edgemon-") as folder:
        for name, content in state.files.items():
            (Path(folder) / name).write_bytes(content)
        session = Session(folder)
        found = session.evaluate_batch(subject.test.rows.x.astype(np.float32))
    (monitor,) = session.monitors
    predicted = [session.label_values[r.prediction] for r in found]
    return {
        monitor.name: Answer(
            np.array([r.verdict for r in found], np.uint8),
            np.array([r.monitors[0].score for r in found]),
            np.array(predicted, np.int64),
        )
    }


def _written(path: Path, part: Part) -> str:
    np.savez(path, x=part.rows.x.astype(np.float32), y=part.rows.y)
    return str(path)
