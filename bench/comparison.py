"""``edgemon bench --compare OLD.json``: ratios of two documents, and which of them say something.

A time is what ``blocks.Estimate`` says of it in either document. A ratio is the same where its
interval lies within 1 %, faster or slower where it lies beyond (monitors in C: beyond 3 %, since
all rounds of a process have their code in one place), and else cannot be trusted. The model
without taps is a control: the same bytes on the same inputs in the same environment take the same
time. Where that is not sure within 1 %, the clock may have been another, and no time is trusted;
up to 5 %, shares of the model's time in the same blocks still are, if the time itself moved the
same way (else the model did). Beyond, or where a copy of memory took another time (a model that
stays in its cache does not feel who keeps the memory busy), one of the runs may have met a machine
in another state for all its length, and nothing is trusted.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from edgemon.bench.blocks import NARROW
from edgemon.bench.environment import differences
from edgemon.bench.errors import BenchError
from edgemon.bench.pipelines import NAMES
from edgemon.compiler.terminal import Terminal

Document = dict[str, Any]

CODE = 0.03  # of a time in C: another process has its code elsewhere
DRIFT = 0.05  # of the model's time: a clock; beyond, something else
BUSY = 0.2  # of the time of a copy
CONTROL = NAMES[0]
OVERHEAD = "overhead_ratio"
SHARE = {"with_monitors_us": OVERHEAD}  # that have a name; others are NAME / CONTROL
IN_C = " c_ns"
FASTER, SLOWER, UNTRUSTED = "faster", "slower", "cannot be trusted"
BYTES = ("flash_bytes", "ram_bytes", "artifact_bytes")


@dataclass(frozen=True)
class Line:
    """One figure: new to old."""

    name: str
    old: float
    new: float
    ratio: float
    interval: tuple[float, float] | None  # of the ratio; None where a document has none
    verdict: str


def read(path: Path) -> Document:
    """A document of ``bench --json``. Raises BenchError for another file."""
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"--compare {path}: cannot be read as JSON ({error})") from None
    known = isinstance(found, dict) and "block_minima" in found
    if not known or not isinstance(found.get("memory_copy_us"), dict):
        raise BenchError(
            f"--compare {path}: is not what this edgemon's `bench --json` writes (it lacks "
            "block_minima, or the interval of memory_copy_us); measure the old bundle again with "
            "--json"
        )
    document: Document = found
    return document


def compare(old: Document, new: Document) -> Document:
    """The block ``comparison`` of the new document."""
    notes = differences(old["environment"], new["environment"])
    notes += [
        f"CRC of {key}: {old['crc32'].get(key)} before, {value} now"
        for key, value in new["crc32"].items()
        if old["crc32"].get(key) != value
    ]
    times, shares = (_lines(of(old), of(new)) for of in (_times, _shares))
    before, after = _times(old), _times(new)
    notes += [f"{name}: only now" for name in after if name not in before]
    notes += [f"{name}: only before" for name in before if name not in after]
    if not differences(old["environment"], new["environment"]):
        if all(old["crc32"].get(key) == new["crc32"][key] for key in ("model", "inputs")):
            times, shares = _controlled(times, shares, notes)
        copies = _line("memory_copy_us", old["memory_copy_us"], new["memory_copy_us"])
        if not _within(copies, BUSY):
            times, shares = ([_doubted(line) for line in lines] for lines in (times, shares))
            notes.append(
                f"a copy of memory took {copies.ratio:.2f} of its old time, not surely the same "
                f"within {BUSY:.0%}: something else may have kept the memory busy in one of the "
                "runs, and no ratio of times is trusted"
            )
    lines = times + shares
    for key in BYTES:
        if old.get("device") and new.get("device"):
            lines.append(_bytes(key, old["device"][key], new["device"][key]))
    return {"lines": [asdict(line) for line in lines], "notes": notes}


def _times(document: Document) -> dict[str, Document]:
    """Value and interval of every time."""
    found = {name: document["block_minima"][name] for name in NAMES}
    return found | {f"{m['name']}{IN_C}": m["c_ns_rounds"] for m in document["monitors"]}


def _shares(document: Document) -> dict[str, Document]:
    """Value and interval of every time to the model's, block by block."""
    return {
        SHARE.get(name, f"{name} / {CONTROL}"): found["to_model"]
        for name, found in _times(document).items()
        if name != CONTROL
    }


def _controlled(
    times: list[Line], shares: list[Line], notes: list[str]
) -> tuple[list[Line], list[Line]]:
    """The lines where the model is the control."""
    shares = [_unless_alone(line, times) for line in shares]
    control = next(line for line in times if line.name == CONTROL)
    if control.verdict == "same":
        return times, shares
    said = (
        f"the model without monitors took {control.ratio:.3f} of its old time, not surely the same "
        "within 1 %, though nothing of it changed: the machine may have been in another state, and "
    )
    times = [_doubted(line) for line in times]
    if _within(control, DRIFT):
        notes.append(said + "no time is trusted; shares of the model's time are compared too")
        return times, shares
    notes.append(said + "no ratio of times is trusted")
    return times, [_doubted(line) for line in shares]


def _unless_alone(share: Line, times: list[Line]) -> Line:
    """A share that differs is of another time, or of another model: the time has to say so too."""
    own = next(t for t in times if share.name == SHARE.get(t.name, f"{t.name} / {CONTROL}"))
    differs = share.verdict in (FASTER, SLOWER)
    return _doubted(share) if differs and own.verdict != share.verdict else share


def _lines(before: dict[str, Document], after: dict[str, Document]) -> list[Line]:
    return [_line(name, before[name], after[name]) for name in after if name in before]


def _line(name: str, old: Document, new: Document) -> Line:
    ratio = new["value"] / old["value"]
    if old["interval"] is None or new["interval"] is None:
        return Line(name, old["value"], new["value"], ratio, None, UNTRUSTED)
    (old_low, old_high), (new_low, new_high) = old["interval"], new["interval"]
    low, high = new_low / old_high, new_high / old_low
    beyond = CODE if IN_C in name else NARROW
    if low > 1 + beyond:
        verdict = SLOWER
    elif high < 1 - beyond:
        verdict = FASTER
    else:
        verdict = UNTRUSTED
    found = Line(name, old["value"], new["value"], ratio, (low, high), verdict)
    return replace(found, verdict="same") if _within(found, NARROW) else found


def _within(line: Line, share: float) -> bool:
    """Is the ratio surely so near to one?"""
    if line.interval is None:
        return False
    low, high = line.interval
    return low >= 1 - share and high <= 1 + share


def _doubted(line: Line) -> Line:
    """In another state even the same time says nothing."""
    return replace(line, verdict=UNTRUSTED)


def _bytes(name: str, old: int, new: int) -> Line:
    verdict = "same" if new == old else "larger" if new > old else "smaller"
    return Line(name, old, new, new / old, None, verdict)


def show(terminal: Terminal, found: Document) -> None:
    """The comparison for people."""
    terminal.table(
        ("new to old", "old", "new", "ratio", "interval", "verdict"),
        [
            (
                line["name"], line["old"], line["new"], f"{line['ratio']:.4f}",
                "" if line["interval"] is None else "{:.4f} to {:.4f}".format(*line["interval"]),
                line["verdict"],
            )
            for line in found["lines"]
        ],
    )  # fmt: skip
    for note in found["notes"]:
        terminal.note(note)
