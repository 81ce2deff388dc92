"""A bundle as an object. Loading and evaluating need the device runtime alone."""

from __future__ import annotations

import html
import json
import shutil
import tempfile
import weakref
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from edgemon.compiler.api.frames import in_order
from edgemon.runtime.errors import InputError
from edgemon.runtime.evaluation import Verdict
from edgemon.runtime.session import MONITOR, Session

if TYPE_CHECKING:
    from edgemon.compiler.gates.line import Line

Interval = tuple[float, float]

MANIFEST, REPORT, REPORT_JSON = "manifest.json", "report.html", "report.json"


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What model and monitors say of n rows. ``prediction`` int64 (n,), the class by number (-1
    after a fault); ``label``, its name; ``verdict``, of ``runtime.Verdict``, uint8 (n,); ``score``
    float64 (n,) in the unit that people are shown; ``reason``, a sentence each."""

    prediction: npt.NDArray[np.int64]
    label: tuple[str, ...]
    verdict: npt.NDArray[np.uint8]
    score: npt.NDArray[np.float64]
    reason: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.verdict)

    @property
    def trusted(self) -> npt.NDArray[np.bool_]:
        """Where the verdict is trust."""
        return np.asarray(self.verdict == Verdict.TRUST)

    def to_frame(self) -> Any:
        """A pandas frame, a row each. Raises InputError without pandas."""
        try:
            pandas = import_module("pandas")
        except ModuleNotFoundError:
            raise InputError("to_frame needs pandas: pip install pandas") from None
        names = [Verdict(v).name.lower() for v in self.verdict]
        return pandas.DataFrame({
            "prediction": self.prediction, "label": self.label, "verdict": names,
            "score": self.score, "reason": self.reason,
        })  # fmt: skip


@dataclass(frozen=True)
class Scores:
    """How well verdicts tell wrong answers from right ones; shares with 95 % intervals. A verdict
    other than trust is an alarm. ``mcc`` is None where it is undefined."""

    rows: int
    accuracy: float
    accuracy_interval: Interval | None
    caught: float | None  # of the wrong answers
    caught_interval: Interval | None
    false_alarms: float | None  # of the right answers
    false_alarms_interval: Interval | None
    precision: float | None  # of the alarms: wrong answers
    precision_interval: Interval | None
    mcc: float | None


class Bundle:
    """A compiled monitor with its model: ``evaluate`` as a device does, ``save``, ``report``."""

    def __init__(self, folder: Path | str) -> None:
        """Opens the folder that ``compile`` wrote. Raises ArtifactError for another one."""
        self._folder = Path(folder)
        self._session = Session(self._folder)

    @classmethod
    def copied(cls, folder: Path) -> Bundle:
        """One of its own, in a folder that goes with the object: ``save`` keeps it."""
        own = Path(tempfile.mkdtemp(prefix="edgemon-"))
        shutil.copytree(folder, own, dirs_exist_ok=True)
        found = cls(own)
        weakref.finalize(found, shutil.rmtree, own, ignore_errors=True)
        return found

    @property
    def folder(self) -> Path:
        """Where it lies. That of a compiled one goes with the object: ``save`` keeps it."""
        return self._folder

    @property
    def session(self) -> Session:
        """For streams: one image at a time, with drift, accuracy and reports of the field."""
        return self._session

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What ``compile`` measured: docs/documents.md."""
        found: dict[str, Any] = json.loads((self._folder / MANIFEST).read_text(encoding="utf-8"))
        return found

    @cached_property
    def _features(self) -> tuple[str, ...] | None:
        """The names of a table's columns, where they are known."""
        if not (self._folder / MANIFEST).exists():  # without which a bundle runs
            return None
        known = self.manifest.get("features")
        return tuple(known) if known else None

    @property
    def size_bytes(self) -> int:
        """Of the artifact that a device evaluates."""
        return (self._folder / MONITOR).stat().st_size

    def evaluate(self, x: Any) -> Verdicts:
        """Verdicts of n rows or images, (n, ...) as they come from the file or camera; frames of
        pandas and polars too, whose columns are found by name where ``compile`` had names. Drift
        and accuracy of ``session`` are not moved by it."""
        rows = in_order(x, self._features, "evaluate")
        session = Session(self._folder)
        found = session.evaluate_batch(list(rows))
        return Verdicts(
            np.array([r.prediction for r in found], np.int64),
            tuple(r.label for r in found),
            np.array([r.verdict for r in found], np.uint8),
            np.array([r.score for r in found], np.float64),
            tuple(r.reason for r in found),
        )

    def score(self, x: Any, y: Any) -> Scores:
        """How well the verdicts do on labelled rows; labels as ``compile`` took them, numbers or
        names. Raises InputError for a label that no class has. Needs edgemon[compile]."""
        try:
            from edgemon.compiler.statistics.intervals import clopper_pearson
            from edgemon.compiler.statistics.metrics import Confusion
        except ModuleNotFoundError as error:
            raise _lacks("score", error) from None

        found = self.evaluate(x)
        labels = self._classes(y)
        if labels.shape != found.prediction.shape or not len(labels):
            raise InputError(f"{len(found)} rows, but {len(labels)} labels; give one a row")
        wrong = found.prediction != labels
        of, right = Confusion.of(~found.trusted, wrong), int((~wrong).sum())
        return Scores(
            len(wrong), right / len(wrong), clopper_pearson(right, len(wrong)), of.tpr,
            of.tpr_interval(), of.fpr, of.fpr_interval(), of.precision, of.precision_interval(),
            of.mcc,
        )  # fmt: skip

    def require(self, x: Any, y: Any, demanded: str, *, baseline: Any = None) -> tuple[Line, ...]:
        """Holds the verdicts on labelled rows, as ``score`` takes them, to what is demanded, as
        ``verify --require`` does: ``"caught>=0.4,false_alarms<=0.05,kb<=16"``; docs/budgets.md has
        the figures. ``baseline``: another bundle, or its folder, than which accuracy and the
        alarms' MCC must not be clearly lower on the same rows. Returns a line each, with what was
        measured and its 95 % interval. Raises RequirementError if one is missed, UnmeasuredError if
        one could not be measured, InputError for a label that no class has. Needs
        edgemon[compile]."""
        try:
            from edgemon.compiler.api.requirements import gates_of, judged
        except ModuleNotFoundError as error:
            raise _lacks("require", error) from None

        gates = gates_of(demanded, baseline)
        rows, labels = in_order(x, self._features, "require"), self._classes(y)
        if len(labels) != len(rows) or not len(labels):
            raise InputError(f"{len(rows)} rows, but {len(labels)} labels; give one a row")
        return judged(
            self._folder, rows, np.array(self._session.label_values, np.int64)[labels], gates
        )

    def save(self, folder: Path | str, *, force: bool = False) -> Path:
        """Copies the bundle to a new folder (``force``: in place of one that is there)."""
        out = Path(folder)
        if out.exists() and not force:
            raise InputError(f"{out} exists; choose another folder, or replace it with force=True")
        partial = out.with_name(f"{out.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        shutil.copytree(self._folder, partial)
        if out.exists():
            shutil.rmtree(out)
        partial.replace(out)
        return out

    def operating_points(self, monitor: str = "") -> list[dict[str, Any]]:
        """What thresholds with other promises of false alarms would catch, of one monitor (the
        first, if none is named) on the test rows of ``compile``: docs/documents.md,
        OperatingPoint. Raises InputError for a monitor that there is not."""
        document = json.loads((self._folder / REPORT_JSON).read_text(encoding="utf-8"))
        known = {m["name"]: m["operating_points"] for m in document["monitors"]}
        name = monitor or next(iter(known))
        if name not in known:
            raise InputError(f"no monitor {name!r} here; known: {', '.join(known)}")
        return list(known[name])

    def report(self) -> str:
        """The report, one HTML page."""
        return (self._folder / REPORT).read_text(encoding="utf-8")

    def __repr__(self) -> str:
        names = ", ".join(m.name for m in self._session.monitors)
        return f"<edgemon.Bundle: {names}, {self.size_bytes:,} bytes>"

    def _repr_html_(self) -> str:
        page = html.escape(self.report(), quote=True)
        return (
            f'<iframe srcdoc="{page}" style="width:100%;height:40em;border:0" '
            'sandbox="allow-scripts"></iframe>'
        )

    def _classes(self, given: Any) -> npt.NDArray[np.int64]:
        """The position of each label's class, of labels (n,)."""
        try:
            y = np.asarray(given)
        except ValueError:
            raise InputError("labels are lists of several lengths; give one a row, (n,)") from None
        if y.ndim != 1:
            raise InputError(f"labels have the shape {y.shape}; give one a row, (n,)")
        session = self._session
        by_name = {name: i for i, name in enumerate(session.labels)}
        by_value = {value: i for i, value in enumerate(session.label_values)}
        known: dict[Any, int] = by_name if y.dtype.kind in "OUS" else by_value
        labels = [str(v) for v in y] if known is by_name else y.tolist()
        for label in labels:
            if label not in known:  # 2.0 is 2, and 2.5 is none
                raise InputError(
                    f"label {label!r} is of no class; there are {', '.join(map(str, known))}"
                )
        return np.array([known[label] for label in labels], np.int64)


def _lacks(what: str, error: ModuleNotFoundError) -> InputError:
    return InputError(
        f"{what} needs more than the device runtime ({error.name} is missing): pip install "
        "'edgemon[compile]'"
    )


def load(folder: Path | str) -> Bundle:
    """Opens a bundle."""
    return Bundle(folder)
