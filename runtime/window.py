"""Watching in the field: what a device counts of its images, and the reports that it sends home
(docs/fleet.md), as bytes of the C runtime or as a line of JSON."""

from __future__ import annotations

import struct
import zlib
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.accuracy import ESTIMATE, UNIT, Basis, Estimate, estimate_of
from edgemon.runtime.errors import InputError
from edgemon.runtime.evaluation import Evaluation, Verdict, all_faults

if TYPE_CHECKING:
    from edgemon.runtime.accuracy import Accuracy
    from edgemon.runtime.drift import Drift
    from edgemon.runtime.monitor import Monitor

VERSION, MAGIC, KEY = 1, b"EMWR", "edgemon_window"
HEAD = struct.Struct("<4s4H5I3Q14I")  # em_window_report
MONITOR = struct.Struct("<qIIII")  # em_window_monitor
CLASS = struct.Struct("<II")  # em_window_class
CRC = struct.Struct("<I")
FULL, CLIPPED, DRIFT, ACCURACY = 1, 2, 4, 8  # flags
STEPS = 1 << 24  # of a float score, in one
VALUE_FAULT = -27  # EM_E_TAP_VALUE
U32, U64 = (1 << 32) - 1, (1 << 64) - 1
MOST_TIME = 253402300799  # s since 1970: the end of the year 9999
MOST_SUM = 1 << 95
MOST_MONITORS, MOST_CLASSES = 32, 1 << 20
MOST_NAME = 100  # characters of a device's name


class ReportError(InputError):
    """Bytes or a line that are no report; the text says why."""


@dataclass(frozen=True, slots=True)
class MonitorCounts:
    """What a window counted of one monitor. ``sum``: of its raw scores, of float scores in steps
    of 2^-24."""

    sum: int
    scored: int
    alarms: int
    uncertains: int
    is_float: bool

    @property
    def mean(self) -> float | None:
        """The mean raw score; None without a score."""
        return self.sum / (STEPS if self.is_float else 1) / self.scored if self.scored else None


@dataclass(frozen=True, slots=True)
class DriftCounts:
    """The drift test when the report was written; see ``drift.DriftState``."""

    images: int
    faults: int
    flagged_at: int
    since: int
    alternative: int


@dataclass(frozen=True, slots=True)
class Report:
    """A window of images of one device. Times are in s since 1970, 0: no clock. ``classes``: the
    images, and the alarms and uncertains among them, of each predicted class from 0 on."""

    device: str
    artifact: str  # CRC-32 of the artifact, 8 hexadecimal digits
    started: int
    ended: int
    sequence: int
    images: int
    uncertains: int
    alarms: int
    value_faults: int
    score_faults: int
    other_faults: int
    other_images: int
    full: bool
    clipped: bool
    drift: DriftCounts | None
    monitors: tuple[MonitorCounts, ...]
    classes: tuple[tuple[int, int], ...]
    accuracy: Estimate | None = None  # when the report was written

    @property
    def faults(self) -> int:
        """Images without a verdict."""
        return self.value_faults + self.score_faults + self.other_faults

    @property
    def judged(self) -> int:
        """Images with a verdict."""
        return self.images - self.faults

    @property
    def raised(self) -> int:
        """Images with verdict alarm or uncertain."""
        return self.alarms + self.uncertains

    def to_json(self) -> dict[str, Any]:
        """One line of a log; ``from_json`` is its inverse."""
        fields = asdict(self)
        if self.accuracy is None:
            del fields["accuracy"]
        return {KEY: VERSION, **fields, "classes": [list(c) for c in self.classes]}

    @classmethod
    def from_json(cls, line: Any) -> Report:
        """Of a line's object. Raises ReportError. Flags, drift and records may be missing."""
        if not isinstance(line, dict) or KEY not in line:
            raise ReportError(f"no report (no {KEY!r} in it)")
        if line[KEY] != VERSION:
            raise ReportError(f"a report of version {line[KEY]!r}; this edgemon reads {VERSION}")
        try:
            found = cls(
                **{name: line[name] for name in _REQUIRED},
                **{name: line.get(name, 0) for name in _COUNTS},
                full=line.get("full", False), clipped=line.get("clipped", False),
                drift=None if line.get("drift") is None else DriftCounts(**line["drift"]),
                monitors=tuple(MonitorCounts(**m) for m in line.get("monitors", ())),
                classes=tuple((images, alarms) for images, alarms in line.get("classes", ())),
                accuracy=_estimate(line.get("accuracy")),
            )  # fmt: skip
        except KeyError as error:
            raise ReportError(f"a report without {error.args[0]!r}") from None
        except (TypeError, ValueError):
            raise ReportError("a report whose records have other fields") from None
        return _checked(found)

    @classmethod
    def size_of(cls, head: bytes) -> int:
        """Bytes of a report that begins with these 16. Raises ReportError."""
        if len(head) < 16 or head[:4] != MAGIC:
            raise ReportError("no report (other first bytes)")
        version, own, monitor, cell, size = struct.unpack_from("<4HI", head, 4)
        if version < VERSION or own < HEAD.size or monitor < MONITOR.size or cell < CLASS.size:
            raise ReportError("a report with sizes that none has")
        if not own + CRC.size <= size <= own + CRC.size + (monitor << 5) + (cell << 20):
            raise ReportError("a report with a size that none has")
        return int(size)

    @classmethod
    def parse(cls, data: bytes) -> Report:
        """Of the bytes that ``em_window_write`` wrote; of a later version what is known here.
        Raises ReportError."""
        if cls.size_of(data) != len(data):
            raise ReportError("a report that is cut off")
        if zlib.crc32(data[: -CRC.size]) != CRC.unpack(data[-CRC.size :])[0]:
            raise ReportError("a report with another checksum: it was damaged on the way")
        _, _, own, monitor, cell, size, n, classes, artifact, flags, device, *rest = (
            HEAD.unpack_from(data)
        )
        if size != own + monitor * n + cell * classes + CRC.size or n > MOST_MONITORS:
            raise ReportError("a report with a size that its records do not have")
        started, ended, floats, *counts = rest
        monitors = []
        for i in range(n):
            high, low, scored, alarms, uncertains = MONITOR.unpack_from(data, own + monitor * i)
            total = (high << 32) + low
            monitors.append(MonitorCounts(total, scored, alarms, uncertains, bool(floats >> i & 1)))
        first = own + monitor * n
        try:
            accuracy = _estimate_in(data[HEAD.size : own]) if flags & ACCURACY else None
        except ValueError:
            raise ReportError(_NO_ESTIMATE) from None
        cells = tuple(CLASS.unpack_from(data, first + cell * i) for i in range(classes))
        named = dict(zip(_COUNTED, counts, strict=False))
        return _checked(
            cls(
                str(device), f"{artifact:08x}", started, ended, **named,
                full=bool(flags & FULL), clipped=bool(flags & CLIPPED),
                drift=DriftCounts(*counts[len(named) :]) if flags & DRIFT else None,
                monitors=tuple(monitors), classes=cells, accuracy=accuracy,
            )
        )  # fmt: skip


_NO_ESTIMATE = "a report with an estimate of accuracy that none is"
_COUNTED = (
    "sequence", "images", "uncertains", "alarms", "value_faults", "score_faults", "other_faults",
    "other_images",
)  # fmt: skip
_REQUIRED = ("device", "artifact", "images", "alarms")
_COUNTS = (
    "started", "ended", "sequence", "uncertains", "value_faults", "score_faults", "other_faults",
    "other_images",
)  # fmt: skip


def _estimate_in(rest_of_head: bytes) -> Estimate:
    return estimate_of(rest_of_head[: ESTIMATE.itemsize])  # a later version may append


def _estimate(found: Any) -> Estimate | None:
    if found is None:
        return None
    return Estimate(**{**found, "basis": Basis(found["basis"])})


def _is_estimate(e: Estimate) -> bool:
    small, large = (e.images, e.faults, e.labels, e.rights), (e.sum, e.squares)
    return (
        all(type(n) is int and 0 <= n <= U32 for n in small)
        and all(type(n) is int and 0 <= n <= U64 for n in (*large, e.label_sum, e.label_squares))
        and all(type(n) is int for n in (e.estimate, e.low, e.high))
        and 0 <= e.low <= e.estimate <= e.high <= UNIT
        and type(e.valid) is bool
        and e.rights <= e.labels
    )


def _checked(report: Report) -> Report:
    """Raises ReportError for what no window can have counted."""
    name = report.device
    if not isinstance(name, str) or not 0 < len(name) <= MOST_NAME:
        raise ReportError(f"a device's name is a text of 1 to {MOST_NAME} characters")
    if not isinstance(report.artifact, str) or len(report.artifact) > 8:
        raise ReportError("an artifact is named by the 8 hexadecimal digits of its checksum")
    if len(report.monitors) > MOST_MONITORS or len(report.classes) > MOST_CLASSES:
        raise ReportError("a report of more monitors or classes than an artifact has")
    counts = [report.images, report.alarms, *(getattr(report, n) for n in _COUNTS[2:])]
    counts += [n for pair in report.classes for n in pair]
    counts += [n for m in report.monitors for n in (m.scored, m.alarms, m.uncertains)]
    if report.drift is not None:
        counts += asdict(report.drift).values()
    if not all(type(n) is int and 0 <= n <= U32 for n in counts):
        raise ReportError("a report with a count that is no whole number of 32 bits")
    if not all(type(t) is int and 0 <= t <= MOST_TIME for t in (report.started, report.ended)):
        raise ReportError("a report with a time that is no number of seconds since 1970")
    if not all(type(m.sum) is int and -MOST_SUM <= m.sum <= MOST_SUM for m in report.monitors):
        raise ReportError("a report with a sum of scores that is no whole number of 96 bits")
    classed = sum(images for images, _ in report.classes) + report.other_images
    if (
        report.raised + report.faults > report.images
        or (report.classes and classed > report.images)
        or any(alarms > images for images, alarms in report.classes)
        or any(m.scored > report.images for m in report.monitors)
        or any(m.alarms + m.uncertains > report.images for m in report.monitors)
    ):
        raise ReportError("a report that counts more of a kind than images")
    if report.accuracy is not None and not _is_estimate(report.accuracy):
        raise ReportError(_NO_ESTIMATE)
    if report.started > report.ended > 0:
        raise ReportError("a report that ends before it starts")
    return report


class Window:
    """Counts of one stream of images, kept by the C runtime. ``classes``: how many have a record,
    by default all of the artifact's."""

    def __init__(self, monitor: Monitor, *, classes: int | None = None) -> None:
        self._monitor = monitor
        wanted = monitor.classes if classes is None else min(classes, monitor.classes)
        size = HEAD.size + MONITOR.size * len(monitor.monitors) + CLASS.size * wanted
        self._words = np.zeros(size // 8, np.uint64)
        monitor.start_window(self._words)

    @property
    def words(self) -> npt.NDArray[np.uint64]:
        """The C struct ``em_window_report`` and its records; always the same array."""
        return self._words

    def update(self, found: Evaluation) -> None:
        """Counts the rows of an evaluation."""
        self._monitor.update_window(self._words, found)

    def update_faults(self, images: int = 1) -> None:
        """Counts images with a NaN or an infinity, which were not evaluated."""
        self.update(
            Evaluation(
                np.full(images, Verdict.FAULT, np.uint8), np.full(images, VALUE_FAULT, np.int32),
                np.full(images, -1, np.int32), *all_faults(images, len(self._monitor.monitors)),
            )
        )  # fmt: skip

    def to_bytes(
        self, *, device: int = 0, started: int = 0, ended: int = 0, drift: Drift | None = None,
        accuracy: Accuracy | None = None,
    ) -> bytes:  # fmt: skip
        """The report, as a device sends it; times in s since 1970. With an estimate of accuracy it
        is of version 2; readers of version 1 leave that out."""
        self._words[4], self._words[5], self._words[6] = device, started, ended
        words = None if drift is None else drift.words
        estimate = None if accuracy is None else accuracy.record(drift)
        return self._monitor.write_window(self._words, words, estimate)

    def next(self) -> None:
        """Begins the next window: counts are 0."""
        self._monitor.next_window(self._words)
