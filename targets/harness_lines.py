"""What the harness prints (``boards/harness.c``), and the rows that it reads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import Monitor
from edgemon.targets.errors import TargetError

Array = npt.NDArray[Any]
Rows = Sequence[Array]  # (n, length) of each tap, in the artifact's order

FIRST_LINE, LAST_LINE = "edgemon harness 1", "end"
ALIGNED = 8  # bytes, of each tap in a row


@dataclass(frozen=True)
class Instructions:
    """That the target executes; the same in each run."""

    open: int
    self_test: int
    evaluations: tuple[int, ...]  # of each row
    accuracy: tuple[int, int] | None = None  # of an image counted, and of an estimate


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a program said. Statuses are those of edgemon.h."""

    emulator: str
    opened: int  # of em_open
    self_test: int | None
    check: int | None  # of em_check, after all rows
    evaluation: Evaluation | None  # of the rows; None if the artifact was refused
    drift: tuple[int, int, int] | None  # images, faults and the image of the flag
    accuracy: tuple[int, ...] | None  # estimate, low and high, is it valid, images
    stack_seen: dict[str, int]  # bytes, by function; empty where nothing was seen
    instructions: Instructions | None
    not_counted: str = ""  # why there are no instructions


def packed(rows: Rows) -> npt.NDArray[np.uint8]:
    """(n, bytes): the rows as the harness reads them."""
    parts = []
    for tap in rows:
        data = np.ascontiguousarray(tap).view(np.uint8).reshape(len(tap), -1)
        parts.append(np.pad(data, ((0, 0), (0, -data.shape[1] % ALIGNED))))
    return np.concatenate(parts, axis=1)


def between(text: str) -> list[str] | None:
    """The harness's lines, without its first and last; None unless it came to its end."""
    lines = [line.strip() for line in text.splitlines()]
    if FIRST_LINE not in lines:
        return None
    lines = lines[lines.index(FIRST_LINE) + 1 :]
    return lines[: lines.index(LAST_LINE)] if LAST_LINE in lines else None


def outcome_of(
    monitor: Monitor,
    lines: list[str],
    where: str,
    counts: Instructions | None = None,
    why: str = "",
) -> Outcome:
    """Of the harness's lines. ``where`` they come from, ``why`` nothing was counted. Raises
    TargetError, which begins with ``where``, if they are not what it prints."""
    said: dict[str, list[str]] = {}
    for line in lines:
        word, _, rest = line.partition(" ")
        said.setdefault(word, []).append(rest)
    try:
        opened = int(said["open"][0])
        drift = tuple(int(v) for v in said["drift"][0].split()) if "drift" in said else None
        return Outcome(
            where,
            opened,
            int(said["self-test"][0]) if "self-test" in said else None,
            int(said["check"][0]) if "check" in said else None,
            None if opened else evaluation_of(monitor, said.get("row", [])),
            None if drift is None else (drift[0], drift[1], drift[2]),
            tuple(map(int, said["accuracy"][0].split())) if "accuracy" in said else None,
            {f: int(n) for f, n in (v.split() for v in said.get("stack", []))},
            counts,
            "" if counts else why,
        )
    except (KeyError, ValueError, IndexError):
        raise TargetError(f"{where}: what it printed is not what the harness prints") from None


def evaluation_of(monitor: Monitor, lines: list[str]) -> Evaluation:
    """Of lines ``REASON CLASS VERDICT VERDICT:SCORE ...``."""
    count = len(monitor.monitors)
    numbers = np.array(
        [[int(v) for v in re.split("[ :]", line)[:3]] for line in lines], np.int64
    ).reshape(-1, 3)
    each = [[part.split(":") for part in line.split()[3:]] for line in lines]
    verdicts = np.array([[int(v) for v, _ in row] for row in each], np.uint8).reshape(-1, count)
    bits = np.array([[int(s, 16) for _, s in row] for row in each], np.uint64).reshape(-1, count)
    scores = []
    for column, info in zip(bits.T, monitor.monitors, strict=True):
        if info.dtype == "float32":
            scores.append(column.astype(np.uint32).view(np.float32))
        else:
            scores.append(column.view(np.int64).astype(info.dtype))
    return Evaluation(
        numbers[:, 2].astype(np.uint8), numbers[:, 0].astype(np.int32),
        numbers[:, 1].astype(np.int32), verdicts, tuple(scores),
    )  # fmt: skip
