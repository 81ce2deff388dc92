"""``edgemon bench --compare OLD.json``: ratios of two documents, and which of them say something.

A time is what ``blocks.Estimate`` says of it in either document. A ratio is faster or slower where
its interval lies beyond 1 %, the same where it lies within, and else cannot be trusted. The model
without taps is a control: the same bytes on the same inputs in the same environment take the same
time, and where that is not sure within 1 %, no difference of the two runs is trusted: one of them
may have met a machine that was busy for all its length.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgemon.bench.blocks import NARROW
from edgemon.bench.environment import differences
from edgemon.bench.errors import BenchError
from edgemon.bench.pipelines import NAMES
from edgemon.compiler.terminal import Terminal

Document = dict[str, Any]

BUSY = 0.2  # of the time of a copy
UNTRUSTED = "cannot be trusted"
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
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BenchError(f"--compare {path}: cannot be read as JSON ({error})") from None
    if not isinstance(found, dict) or not {"block_minima", "memory_copy_us"} <= found.keys():
        raise BenchError(
            f"--compare {path}: is not what this edgemon's `bench --json` writes (it lacks "
            "block_minima); measure the old bundle again with --json"
        )
    return found


def compare(old: Document, new: Document) -> Document:
    """The block ``comparison`` of the new document."""
    notes = differences(old["environment"], new["environment"])
    notes += [
        f"CRC of {key}: {old['crc32'].get(key)} before, {value} now"
        for key, value in new["crc32"].items()
        if old["crc32"].get(key) != value
    ]
    before, after = _estimates(old), _estimates(new)
    lines = [_line(name, before[name], after[name]) for name in after if name in before]
    notes += [f"{name}: only now" for name in after if name not in before]
    notes += [f"{name}: only before" for name in before if name not in after]
    control = lines[0]
    if _same_work(old, new) and control.verdict != "same":
        notes.append(
            f"the model without monitors took {control.ratio:.3f} of its old time, not surely the "
            "same within 1 %, though nothing of it changed: the machine may have been in another "
            "state, and no difference of times is trusted"
        )
        lines = [_doubted(line) for line in lines]
    copies = new["memory_copy_us"] / old["memory_copy_us"]
    if not differences(old["environment"], new["environment"]) and abs(copies - 1) > BUSY:
        notes.append(
            f"a copy of memory took {copies:.2f} of its old time: something else kept the memory "
            "busy in one of the runs, and no difference of times is trusted"
        )
        lines = [_doubted(line) for line in lines]
    for key in BYTES:
        if old.get("device") and new.get("device"):
            lines.append(_bytes(key, old["device"][key], new["device"][key]))
    return {"lines": [asdict(line) for line in lines], "notes": notes}


def _estimates(document: Document) -> dict[str, Document]:
    """Value and interval of every time, the model without taps first, and of the overhead."""
    found = {name: document["block_minima"][name] for name in NAMES}
    found["overhead_ratio"] = {
        "value": document["overhead_ratio"], "interval": document["overhead_interval"],
    }  # fmt: skip
    return found | {f"{m['name']} c_ns": m["c_ns_rounds"] for m in document["monitors"]}


def _same_work(old: Document, new: Document) -> bool:
    same = all(old["crc32"].get(key) == new["crc32"][key] for key in ("model", "inputs"))
    return same and not differences(old["environment"], new["environment"])


def _line(name: str, old: Document, new: Document) -> Line:
    ratio = new["value"] / old["value"]
    if old["interval"] is None or new["interval"] is None:
        return Line(name, old["value"], new["value"], ratio, None, UNTRUSTED)
    (old_low, old_high), (new_low, new_high) = old["interval"], new["interval"]
    low, high = new_low / old_high, new_high / old_low
    if low > 1 + NARROW:
        verdict = "slower"
    elif high < 1 - NARROW:
        verdict = "faster"
    else:
        within = low >= 1 - NARROW and high <= 1 + NARROW
        verdict = "same" if within else UNTRUSTED
    return Line(name, old["value"], new["value"], ratio, (low, high), verdict)


def _doubted(line: Line) -> Line:
    verdict = line.verdict if line.verdict == "same" else UNTRUSTED
    return Line(line.name, line.old, line.new, line.ratio, line.interval, verdict)


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
