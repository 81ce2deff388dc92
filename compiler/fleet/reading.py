"""Reports from logs, one after the other: lines of JSON, or reports as devices send them. Nothing
that a log holds ends the command; what is no report is counted and named."""

from __future__ import annotations

import gzip
import io
import json
import sys
from base64 import b64decode
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from edgemon.compiler.errors import DataError
from edgemon.runtime.window import MAGIC, Report, ReportError

STDIN = "-"
LOGS = (".jsonl", ".ndjson", ".json", ".log", ".emw")  # in a folder; each also with .gz
MOST_LINE = 1 << 24  # bytes
CHUNK = 1 << 16
NAMED = 20  # problems that are named one by one
MOST_REASON = 200  # characters, which may be the log's own
KINDS = 50  # reasons that are counted one by one


@dataclass
class Problems:
    """What was left out: how often each reason occurred, and where the first ones were."""

    reasons: Counter[str] = field(default_factory=Counter)
    first: list[str] = field(default_factory=list)

    def add(self, where: str, reason: str) -> None:
        if len(reason) > MOST_REASON:
            reason = reason[:MOST_REASON] + "..."
        self.reasons[
            reason if reason in self.reasons or len(self.reasons) < KINDS else "other"
        ] += 1
        if len(self.first) < NAMED:
            self.first.append(f"{where}: {reason}")

    @property
    def count(self) -> int:
        """Lines, or stretches of bytes."""
        return self.reasons.total()

    def to_json(self) -> dict[str, Any]:
        return {"count": self.count, "reasons": dict(self.reasons), "first": self.first}


def files(logs: Sequence[str]) -> tuple[list[Path], int]:
    """The files to read, in order, and how many of the folders' files are of another kind. Raises
    DataError for what is not there, and for folders without a log."""
    found: list[Path] = []
    others = 0
    for log in logs:
        path = Path(log)
        if log == STDIN or path.is_file():
            found.append(path)
        elif path.is_dir():
            inside = sorted(p for p in path.rglob("*") if p.is_file())
            kept = [p for p in inside if p.name.removesuffix(".gz").endswith(LOGS)]
            if not kept:
                raise DataError(f"{path}: no log in this folder; logs end in {', '.join(LOGS)}")
            found += kept
            others += len(inside) - len(kept)
        else:
            raise DataError(f"{path}: no such file or folder; name logs of reports, or - for input")
    return found, others


def reports(path: Path, problems: Problems) -> Iterator[Report]:
    """The reports of one file, of any size; see ``files``."""
    if str(path) == STDIN:
        yield from _of_stream(sys.stdin.buffer, "standard input", problems)
        return
    with path.open("rb") as raw:
        packed = raw.read(2) == b"\x1f\x8b"
        raw.seek(0)
        stream: Any = gzip.GzipFile(fileobj=raw) if packed else raw
        try:
            yield from _of_stream(stream, str(path), problems)
        except (EOFError, OSError, gzip.zlib.error) as error:  # type: ignore[attr-defined]
            problems.add(str(path), f"cannot be read to its end ({error})")


def _of_stream(stream: IO[bytes], name: str, problems: Problems) -> Iterator[Report]:
    buffered = io.BufferedReader(stream, CHUNK)  # type: ignore[type-var]
    if buffered.peek(len(MAGIC))[: len(MAGIC)] == MAGIC:
        yield from _of_bytes(buffered, name, problems)
    else:
        yield from _of_lines(buffered, name, problems)


def _of_lines(stream: io.BufferedReader[Any], name: str, problems: Problems) -> Iterator[Report]:
    number = 0
    while line := stream.readline(MOST_LINE):
        number += 1
        if len(line) == MOST_LINE and not line.endswith(b"\n"):
            problems.add(f"{name}:{number}", f"a line of more than {MOST_LINE:,} bytes")
            while (rest := stream.readline(MOST_LINE)) and not rest.endswith(b"\n"):
                pass
        elif line.strip():
            try:
                yield of_line(line)
            except ReportError as error:
                problems.add(f"{name}:{number}", str(error))


def of_line(line: bytes) -> Report:
    """A report of its own fields, or as bytes: ``{"report": BASE64}``, to which a gateway may add
    the ``device`` and when it ``received`` it (s since 1970). Raises ReportError."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise ReportError("no JSON") from None
    if not isinstance(found, dict) or "report" not in found:
        return Report.from_json(found)
    try:
        data = b64decode(found["report"], validate=True)
    except (ValueError, TypeError):
        raise ReportError("a report that is not in base64") from None
    report = Report.parse(data)
    device, received = found.get("device"), found.get("received", 0)
    if device is None and not received:
        return report
    line_of = report.to_json()
    line_of["device"] = report.device if device is None else device
    line_of["ended"] = report.ended or received
    again = Report.from_json({**line_of, "monitors": [], "drift": None, "classes": []})
    return replace(report, device=again.device, ended=again.ended)


def _of_bytes(stream: io.BufferedReader[Any], name: str, problems: Problems) -> Iterator[Report]:
    """Reports without anything between them; behind a damaged one the next is looked for."""
    data, at = b"", 0  # what was read and not used, and where it lies in the file
    while True:
        more = stream.read(CHUNK)
        data += more
        used = 0
        while len(data) - used >= (16 if more else 1):
            rest = data[used : used + 16]
            try:
                size = Report.size_of(rest)
                if size > len(data) - used:
                    if more:
                        break
                    raise ReportError("a report that is cut off")
                yield Report.parse(data[used : used + size])
                used += size
            except ReportError as error:
                problems.add(f"{name}, byte {at + used:,}", str(error))
                following = data.find(MAGIC, used + 1)
                used = following if following >= 0 else max(used + 1, len(data) - 3)
                if following < 0:
                    break
        data, at = data[used:], at + used
        if not more:
            return
