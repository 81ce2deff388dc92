"""A monitor as the C runtime evaluates it, with NumPy arrays."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime import _native
from edgemon.runtime.accuracy import AccuracyInfo
from edgemon.runtime.drift import DriftInfo
from edgemon.runtime.errors import ArtifactError, DamagedError
from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.untrusted import RepeatedKeyError, parse_json
from edgemon.runtime.views import VIEWS

Array = npt.NDArray[Any]

DTYPES = {1: "int8", 2: "uint8", 3: "int16", 4: "int32", 5: "int64", 6: "float32"}

MAX_WORK = 1 << 26  # element operations of an evaluation: some tenths of a second
SELF_TESTS = 16  # evaluations of such work that a self-test may take
VARIABLE = "EDGEMON_MAX_WORK"
# Not damaged, but for another runtime: version, byte order, unknown section, floats, ops left out.
UNREADABLE_HERE = (-5, -6, -10, -30, -32)


@dataclass(frozen=True)
class TapInfo:
    """A tensor that the monitor reads: real value = scale * (code - zero_point).

    ``view``: of which inference, one of ``views.VIEWS``; see ``taps.TapReader``.
    """

    name: str
    dtype: str
    length: int
    scale: float
    zero_point: int
    view: str


@dataclass(frozen=True)
class CompanionInfo:
    """What an artifact says of a companion: the view that needs it, bytes of its file, and its
    SHA-256 in hexadecimal."""

    view: str
    size: int
    sha256: str


@dataclass(frozen=True)
class MonitorInfo:
    """A monitor's decision rule in raw units: alarm iff score > alarm_above."""

    name: str
    dtype: str
    alarm_above: float | int
    uncertain_above: float | int


class Monitor:
    """A validated artifact. Raises ArtifactError with the loader's reason if it is invalid, and
    if an evaluation would take more than ``max_work`` element operations, or its self-test more
    than sixteen such (default: ``EDGEMON_MAX_WORK`` of the environment, or 2^26)."""

    def __init__(self, artifact: bytes, *, max_work: int | None = None) -> None:
        try:
            self._native = _native.Monitor(artifact)
        except _native.Error as error:
            kind = ArtifactError if error.args[0] in UNREADABLE_HERE else DamagedError
            raise kind(f"artifact rejected: {error.args[1]}") from None
        most = most_work() if max_work is None else max_work
        _require_work(self._native.work, self._native.self_tests, most)
        self.taps = tuple(
            TapInfo(name, DTYPES[code], length, scale, zero, VIEWS[view])
            for name, code, length, scale, zero, view in self._native.taps
        )
        self.monitors = tuple(
            MonitorInfo(name, DTYPES[code], alarm, uncertain)
            for name, code, alarm, uncertain in self._native.monitors
        )

    @property
    def companions(self) -> tuple[CompanionInfo, ...]:
        """The models that run beside the classifier, at most one a view."""
        return tuple(
            CompanionInfo(VIEWS[view], size, sha.hex())
            for view, size, sha in self._native.companions
        )

    @property
    def drift(self) -> DriftInfo | None:
        """The artifact's drift test, if it has one."""
        found = self._native.drift
        return None if found is None else DriftInfo(*found)

    @property
    def accuracy(self) -> AccuracyInfo | None:
        """The artifact's table of accuracy, if it has one."""
        found = self._native.accuracy
        return None if found is None else AccuracyInfo(*found)

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata that the compiler stored; empty where there is none. Raises ArtifactError
        unless it is one JSON object without a key that is stated twice."""
        try:
            found = parse_json(self._native.metadata or b"{}", once=True)
        except RepeatedKeyError:
            raise DamagedError(
                "the artifact's metadata states a key twice; compile it again"
            ) from None
        except ValueError:
            raise DamagedError("the artifact's metadata is not JSON; compile it again") from None
        if not isinstance(found, dict):
            raise DamagedError("the artifact's metadata is not a JSON object; compile it again")
        return found

    @property
    def workspace_size(self) -> int:
        """Scratch memory of one evaluation, in bytes."""
        return self._native.workspace_size

    @property
    def work(self) -> int:
        """Element operations of one evaluation (FORMAT.md, section 7.12)."""
        return self._native.work

    @property
    def classes(self) -> int:
        """Number of classes that the predicted one is of."""
        return self._native.classes

    @property
    def struct_size(self) -> int:
        """Size of the C struct ``em_monitor``, in bytes."""
        return self._native.struct_size

    def bind_model(self, sha256: str) -> None:
        """Raises ArtifactError unless the artifact was compiled for the model with this hash."""
        self._require(self._native.bind_model(bytes.fromhex(sha256)))

    def self_test(self) -> None:
        """Evaluates the artifact's own vectors; raises ArtifactError if a result differs."""
        self._require(self._native.self_test())

    def evaluate(self, taps: Sequence[Array]) -> Evaluation:
        """Evaluate n rows; ``taps[i]`` is (n, length). A tap of another type or length, a NaN or
        an infinity gives verdict fault, as on the device."""
        rows = len(taps[0]) if taps else 0
        count = len(self.monitors)
        verdict = np.empty(rows, np.uint8)
        reason = np.empty(rows, np.int32)
        predicted = np.empty(rows, np.int32)
        verdicts = np.empty((rows, count), np.uint8)
        raw = np.empty((rows, count), np.int64)
        contiguous = [np.ascontiguousarray(x) for x in taps]
        self._native.evaluate(contiguous, rows, verdict, reason, predicted, verdicts, raw)
        scores = tuple(self._score(raw[:, i], m.dtype) for i, m in enumerate(self.monitors))
        return Evaluation(verdict, reason, predicted, verdicts, scores)

    def update_drift(
        self, state: npt.NDArray[np.uint32], verdicts: Array, scores: Sequence[Array]
    ) -> None:
        """Count rows in the state of a drift test (see ``drift.Drift``): verdicts (n, M) and M raw
        scores (n,)."""
        raw = self._raw(len(verdicts), scores)
        self._native.drift_update(state, len(raw), np.ascontiguousarray(verdicts), raw)

    def update_accuracy(
        self, state: npt.NDArray[np.uint64], drift: npt.NDArray[np.uint32] | None, verdicts: Array,
        scores: Sequence[Array],
    ) -> None:  # fmt: skip
        """Count rows in the state of an estimate (see ``accuracy.Accuracy``), each in that of a
        drift test before: verdicts (n, M) and M raw scores (n,)."""
        raw = self._raw(len(verdicts), scores)
        self._native.accuracy_update(state, drift, len(raw), np.ascontiguousarray(verdicts), raw)

    def label_accuracy(
        self, state: npt.NDArray[np.uint64], probability: int, right: bool
    ) -> None:  # fmt: skip
        """Count a label of an image that had this probability, in 1/65535."""
        self._native.accuracy_label(state, probability, right)

    def estimate_accuracy(
        self, state: npt.NDArray[np.uint64], drift: npt.NDArray[np.uint32] | None
    ) -> bytes | None:
        """The C struct ``em_estimate``; None without a table."""
        return self._native.accuracy_estimate(state, drift)

    def start_window(self, state: npt.NDArray[np.uint64]) -> None:
        """Start a window (see ``window.Window``): a head of 112 bytes, 24 a monitor, 8 a class."""
        self._native.window_start(state)

    def update_window(self, state: npt.NDArray[np.uint64], found: Evaluation) -> None:
        """Count the rows of an evaluation in a window."""
        raw = self._raw(len(found.verdict), found.scores)
        self._native.window_update(
            state, len(raw), np.ascontiguousarray(found.verdict),
            np.ascontiguousarray(found.reason), np.ascontiguousarray(found.predicted),
            np.ascontiguousarray(found.verdicts), raw,
        )  # fmt: skip

    def next_window(self, state: npt.NDArray[np.uint64]) -> None:
        """Set a window's counts to 0; its sequence is one more."""
        self._native.window_next(state)

    def write_window(
        self, state: npt.NDArray[np.uint64], drift: npt.NDArray[np.uint32] | None,
        estimate: bytes | None = None,
    ) -> bytes:  # fmt: skip
        """The report of a window, with the state of a drift test and an ``em_estimate``."""
        return self._native.window_write(state, drift, estimate)

    def stream(
        self, drift: npt.NDArray[np.uint32], window: npt.NDArray[np.uint64],
        accuracy: npt.NDArray[np.uint64],
    ) -> _native.Stream:  # fmt: skip
        """Evaluates one image after the other and counts it in all states."""
        return _native.Stream(self._native, drift, window, accuracy)

    def _raw(self, rows: int, scores: Sequence[Array]) -> npt.NDArray[np.int64]:
        """M scores (n,) as the C runtime keeps them, (n, M)."""
        raw = np.zeros((rows, len(self.monitors)), np.int64)
        for i, own in enumerate(scores):
            if own.dtype == np.float32:
                raw.view(np.float32)[:, 2 * i] = own
            else:
                raw[:, i] = own
        return raw

    @property
    def evaluate_into(self) -> Any:
        """The C extension's own batch call, for pipelines that reuse their result arrays:
        ``(taps, rows, verdict, reason, predicted, verdicts, scores)``, see ``_native.pyi``."""
        return self._native.evaluate

    def display(self, index: int, raw: float | int) -> float:
        """A raw score of monitor ``index`` in the unit that is shown to people."""
        return self._native.display(index, raw)

    def nanoseconds(self, taps: Sequence[Array], repeats: int) -> list[float]:
        """Mean time of one evaluation in C over the given rows, in ns, once a repeat."""
        contiguous = [np.ascontiguousarray(x) for x in taps]
        return self._native.nanoseconds(contiguous, len(contiguous[0]), repeats)

    @staticmethod
    def _score(raw: Array, dtype: str) -> Array:
        if dtype == "float32":
            return np.ascontiguousarray(raw).view(np.float32)[::2]
        return raw.astype(dtype)

    @staticmethod
    def _require(status: int) -> None:
        if status:
            raise ArtifactError(f"artifact refused: {_native.status_text(status)}")


def most_work() -> int:
    """Element operations that an evaluation may take unless the caller says otherwise."""
    stated = os.environ.get(VARIABLE, "").strip()
    if not stated:
        return MAX_WORK
    if not (stated.isascii() and stated.isdigit() and len(stated) <= 18):
        raise ArtifactError(
            f"{VARIABLE} is not a number of element operations: give digits alone, as {MAX_WORK}"
        )
    return int(stated)


def _require_work(work: int, self_tests: int, most: int) -> None:
    raised = f"if you trust the file, raise it: {VARIABLE} for commands, Session(max_work=) in code"
    if work > most:
        raise ArtifactError(
            f"artifact refused: an evaluation takes {work:,} element operations, more than the "
            f"limit of {most:,}; {raised}"
        )
    if work * self_tests > most * SELF_TESTS:
        raise ArtifactError(
            f"artifact refused: its self-test takes {work * self_tests:,} element operations, more "
            f"than {SELF_TESTS} times the limit of {most:,}; {raised}"
        )


def status_text(status: int) -> str:
    """The sentence of an ``em_status``."""
    return _native.status_text(status)
