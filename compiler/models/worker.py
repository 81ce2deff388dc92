"""The child process in which models run: ``python -m edgemon.compiler.models.worker``.

A JSON job comes by standard input. JSON lines go to standard output: ``{"done": rows}`` as it
proceeds, and at the end a result or ``{"error": sentence, "blames": "model" | "data"}``.
Nothing slow is imported here: NumPy and the interpreter only. TensorFlow and onnx are imported
by the tasks that need them.
"""

from __future__ import annotations

import json
import os
import re
import resource
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.data.row_file import RowFile
from edgemon.compiler.errors import DataError
from edgemon.compiler.models.decision import predicted_class
from edgemon.compiler.program.ir import Tap
from edgemon.runtime.classifier import Classifier
from edgemon.runtime.companions import Companion, opened
from edgemon.runtime.errors import BackendError, InputError, NotFiniteError
from edgemon.runtime.formats import open_classifier
from edgemon.runtime.onnx_classifier import inputs_of, open_session
from edgemon.runtime.preprocess import InputSpec, Preprocess, to_input
from edgemon.runtime.taps import TapReader
from edgemon.runtime.views import COMPANION

Array = npt.NDArray[Any]

BLOCK_BYTES = 4 << 20
REPORT_S = 0.1
PROBE_INVOKES = 10
PROBE_S = 5.0


def probe(job: dict[str, Any]) -> dict[str, Any]:
    """Load, allocate and run the model on zeros, several times: damage may show late."""
    _try(open_classifier(Path(job["model"]), kernels=job["kernels"]))
    return {}


def describe(job: dict[str, Any]) -> dict[str, Any]:
    """Run an ONNX model, whatever its outputs, and tell dtype and shape of all its tensors."""
    from edgemon.compiler.models.onnx_probe import tensors_of

    path = Path(job["model"])
    session = open_session(path)
    return {"tensors": tensors_of(path, session, inputs_of(session, path))}


def companion(job: dict[str, Any]) -> dict[str, Any]:
    """Load a companion and run it on zeros, beside the classifier that it is to fit."""
    classifier = open_classifier(Path(job["model"]), kernels=job["kernels"])
    classifier.invoke_zeros()
    for found in _beside(classifier, {job["view"]: job["companion"]}, job["kernels"]).values():
        _try(found.model)
    return {}


def _beside(classifier: Classifier, files: dict[str, str], kernels: str) -> dict[str, Companion]:
    contents = {view: Path(file).read_bytes() for view, file in files.items()}
    return opened(contents, classifier, kernels=kernels)


def convert(job: dict[str, Any]) -> dict[str, Any]:
    """Write a Keras model as TFLite, if it brings no code of its own."""
    from edgemon.compiler.models.keras_config import require_own

    if Path(job["model"]).is_file():
        require_own(Path(job["model"]))  # before TensorFlow, which takes seconds to start
    from edgemon.compiler.models.keras_conversion import convert

    return convert(job)


def _try(classifier: Classifier) -> None:
    started = time.monotonic()
    for _ in range(PROBE_INVOKES):
        classifier.invoke_zeros()
        if time.monotonic() - started > PROBE_S:
            break


def record(job: dict[str, Any]) -> dict[str, Any]:
    """Run the model on a share of the rows and write its taps where they belong."""
    classifier = open_classifier(Path(job["model"]), kernels=job["kernels"])
    output = Tap(**job["output"])
    preprocess = Preprocess.from_json(job["preprocess"])
    spec = InputSpec.from_json(job["input"])
    taps = [(tap["position"], RowFile.open(Path(tap["file"]))) for tap in job["taps"]]
    views = [tap["view"] for tap in job["taps"]]
    classifier.invoke_zeros()  # an output of dynamic shape has no memory before
    beside = _beside(classifier, job["companions"], job["kernels"])
    positions = [position for position, _ in taps]
    reader = TapReader(classifier, positions, views, spec, preprocess, beside)
    predicted = RowFile.open(Path(job["predicted"]))
    for (position, file), view in zip(taps, views, strict=True):
        found = (beside[view].model if view == COMPANION else classifier).output(position)
        if found.shape != file.shape[1:] or found.dtype != file.dtype:
            raise BackendError(
                f"a tap is {found.dtype} {found.shape} when the model runs, but {file.dtype} "
                f"{file.shape[1:]} in its file"
            )
    x = RowFile.open(Path(job["x"]))
    rows = RowFile.open(Path(job["rows"])).read(np.arange(job["start"], job["stop"]))
    row_bytes = x.row_bytes + sum(file.row_bytes for _, file in taps)
    size = max(1, BLOCK_BYTES // row_bytes)
    reporter, started_s = _Reporter(), time.process_time()
    for first in range(0, len(rows), size):
        block = rows[first : first + size]
        at = np.arange(job["start"] + first, job["start"] + first + len(block))
        out = [np.empty((len(block), *file.shape[1:]), file.dtype) for _, file in taps]
        classes = np.empty(len(block), np.int32)
        for i, image in enumerate(x.read(block)):
            try:
                reader.copy(to_input(image, preprocess, spec), [values[i] for values in out])
            except (InputError, BackendError) as error:
                told = str(error).removeprefix(f"{job['model']}: ")
                raise type(error)(f"row {block[i] + job['first_row']}: {told}") from None
            classes[i] = predicted_class(classifier.view(0), output)
            reporter.done(first + i + 1)
        for (_, file), values in zip(taps, out, strict=True):
            file.write(at[0], values)
        predicted.write(at[0], classes)
    took_s = time.process_time() - started_s
    return {"rows": len(rows), "peak_bytes": _peak_bytes(), "seconds": took_s}


def answers(job: dict[str, Any]) -> dict[str, Any]:
    """The model's classes of the same rows under each of several preprocessings; -1 of a row that
    one of them makes no number of."""
    classifier = open_classifier(Path(job["model"]), kernels=job["kernels"])
    output, spec = Tap(**job["output"]), InputSpec.from_json(job["input"])
    images = RowFile.open(Path(job["x"])).read(np.array(job["rows"], np.int64))
    reporter, found = _Reporter(), []
    for done, preprocess in enumerate(map(Preprocess.from_json, job["preprocess"])):
        classes = []
        for i, image in enumerate(images, 1):
            try:
                classifier.invoke(to_input(image, preprocess, spec))
            except NotFiniteError:
                classes.append(-1)
            else:
                classes.append(int(predicted_class(classifier.view(0), output)))
            reporter.done(done * len(images) + i)
        found.append(classes)
    return {"classes": found}


def labels(job: dict[str, Any]) -> dict[str, Any]:
    """What an output of an ONNX model says of rows, as text; it may be any label."""
    path = Path(job["model"])
    session, spec = open_session(path), InputSpec.from_json(job["input"])
    preprocess = Preprocess.from_json(job["preprocess"])
    (entry,) = (i.name for i in session.get_inputs())
    images = RowFile.open(Path(job["x"])).read(np.array(job["rows"], np.int64))
    reporter, found = _Reporter(), []
    for i, image in enumerate(images, 1):
        (value,) = session.run([job["output"]], {entry: to_input(image, preprocess, spec)})
        found.append(str(np.asarray(value).ravel()[0]))
        reporter.done(i)
    return {"labels": found}


def _peak_bytes() -> int:
    """This process's own peak; ru_maxrss would include that of the parent before the exec."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


class _Reporter:
    """Says how far the work is, but not too often."""

    def __init__(self) -> None:
        self._next_s = time.monotonic() + REPORT_S

    def done(self, rows: int) -> None:
        now = time.monotonic()
        if now >= self._next_s:
            self._next_s = now + REPORT_S
            _say({"done": rows})


def _say(message: dict[str, Any]) -> None:
    os.write(_ANSWERS, json.dumps(message).encode() + b"\n")


TASKS = {
    "probe": probe, "describe": describe, "convert": convert, "record": record, "labels": labels,
    "answers": answers, "companion": companion,
}  # fmt: skip
_ANSWERS = 1


def main() -> int:
    """Do the job on standard input."""
    job = json.loads(sys.stdin.buffer.read())
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        answer = TASKS[job["task"]](job)
    except BackendError as error:
        answer = {"error": str(error).removeprefix(f"{job['model']}: "), "blames": "model"}
    except (InputError, DataError) as error:
        answer = {"error": str(error), "blames": "data"}
    except MemoryError:
        answer = {"error": "the model needs more memory than there is", "blames": "model"}
    _say(answer)
    return 0


if __name__ == "__main__":
    sys.exit(main())
