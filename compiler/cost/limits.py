"""Budgets as people write them: ``flash_bytes=65536,instructions=20000``, or a file of tables.

[bench]                           # measured here, beside the model
overhead = 1.02
latency_us_p99 = 400
[bench.monitor.errors]
monitor_ns = 900
[target.cortex-m4f]               # built, counted and emulated
flash_bytes = 65536
[target.cortex-m4f.monitor.errors]
instructions = 30000
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from edgemon.compiler.errors import BudgetError, CompileError, UnmeasuredError
from edgemon.targets.toml_file import read_toml

HERE = {  # by ``edgemon bench``
    "overhead": "ratio of minima, model + monitors to model alone",
    "latency_us": "99th percentile of model + monitors, microseconds",
    "latency_us_p50": "median of model + monitors, microseconds",
    "latency_us_p99": "99th percentile of model + monitors, microseconds",
    "latency_us_max": "longest of model + monitors, microseconds",
    "session_overhead_us": "a session less set, invoke and argmax, minima, microseconds",
    "monitor_ns": "99th percentile of all monitors in C, nanoseconds",
    "flash_bytes": "artifact and runtime code on the bundle's target",
    "ram_bytes": "workspace, structs and stack on the bundle's target",
}
OF_MONITOR_HERE = {"monitor_ns": "99th percentile of this monitor alone in C, nanoseconds"}
ON_TARGET = {
    "code_bytes": "code of the runtime",
    "flash_bytes": "artifact, and code and constants of runtime and library",
    "ram_bytes": "workspace, structs and stack",
    "stack_bytes": "the most that a call needs",
    "instructions": "of an evaluation, the most of any row",
}
OF_MONITOR_ON_TARGET = {
    "instructions": "of an evaluation of this monitor alone, the most of any row",
    "artifact_bytes": "of an artifact with this monitor alone, without self-test and metadata",
}


@dataclass(frozen=True)
class Limit:
    """One number that may not be exceeded. ``target``: None is here, beside the model; ``monitor``:
    None is all together. ``line``: of the file that states it, from 1."""

    name: str
    limit: float
    target: str | None = None
    monitor: str | None = None
    line: int | None = None

    @property
    def title(self) -> str:
        """For people: ``flash_bytes of errors on cortex-m4f``."""
        of = f" of {self.monitor}" if self.monitor else ""
        on = f" on {self.target}" if self.target else ""
        return f"{self.name}{of}{on}"


@dataclass(frozen=True)
class BudgetLine:
    """A limit and what was measured; None: it could not be, and ``why`` says the reason."""

    limit: Limit
    measured: float | None
    why: str = ""
    changes: tuple[str, ...] = ()  # what would bring it under, the smallest first

    @property
    def met(self) -> bool:
        return self.measured is not None and self.measured <= self.limit.limit

    @property
    def over(self) -> float | None:
        """By how much, if it is."""
        if self.measured is None or self.met:
            return None
        return self.measured - self.limit.limit

    def to_json(self) -> dict[str, Any]:
        return {
            **asdict(self.limit), "measured": self.measured, "met": self.met, "over": self.over,
            "not_measured": self.why or None, "changes": list(self.changes),
        }  # fmt: skip

    def __str__(self) -> str:
        if self.measured is None:
            return f"{self.limit.title} was not measured: {self.why}"
        return f"{self.limit.title} is {_number(self.measured)}, over {_number(self.limit.limit)}"


def _number(value: float) -> str:
    """All of its digits, as far as a limit may be missed by one."""
    return f"{value:,.10g}"


def parse(text: str, names: Mapping[str, str], target: str | None = None) -> list[Limit]:
    """The limits of ``--budget``. Raises CompileError on an unknown name or a bad number."""
    found: dict[str, Limit] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, value = part.partition("=")
        if name not in names:
            raise CompileError(f"--budget: unknown budget {name!r}; there are {', '.join(names)}")
        if name in found:
            raise CompileError(f"--budget: {name} is given twice; give it once")
        try:
            number = float(value)
        except ValueError:
            raise CompileError(f"--budget {part}: {value!r} is not a number") from None
        found[name] = Limit(name, _limit(number, f"--budget {part}"), target)
    return list(found.values())


def _limit(value: Any, where: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CompileError(f"{where}: {value!r} is not a number")
    if not 0 <= value < math.inf:
        raise CompileError(f"{where}: must be 0 or more, and finite")
    return float(value)


def load(path: Path) -> list[Limit]:
    """The limits of a file, in its order. Raises CompileError with the place of what is wrong."""
    content = read_toml(path, f"--budgets {path}", CompileError)
    lines = _lines(path)
    places: list[tuple[tuple[str, ...], Any, Mapping[str, str], Mapping[str, str]]] = [
        (("bench",), content.get("bench", {}), HERE, OF_MONITOR_HERE)
    ]
    targets = _table(content.get("target", {}), f"{path}: [target]")
    for name, table in targets.items():
        places.append((("target", name), table, ON_TARGET, OF_MONITOR_ON_TARGET))
    for key in content:
        if key not in ("bench", "target"):
            raise CompileError(
                f"{path}: unknown table [{key}]; there are [bench] and [target.NAME]"
            )
    found = []
    for keys, table, names, of_monitor in places:
        own = {k: v for k, v in _table(table, f"{path}: {keys}").items() if k != "monitor"}
        target = keys[1] if len(keys) > 1 else None
        found += list(_limits(path, lines, keys, own, names, target, None))
        monitors = _table(table.get("monitor", {}), f"{path}: [{'.'.join(keys)}.monitor]")
        for monitor, limits in monitors.items():
            inner = (*keys, "monitor", monitor)
            found += list(_limits(path, lines, inner, limits, of_monitor, target, monitor))
    if not found:
        raise CompileError(f"--budgets {path}: states no limit; see docs/budgets.md")
    return found


def _table(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise CompileError(f"{where}: is not a table; see docs/budgets.md")
    return value


def _limits(
    path: Path,
    lines: Mapping[tuple[str, ...], int],
    keys: tuple[str, ...],
    table: Any,
    names: Mapping[str, str],
    target: str | None,
    monitor: str | None,
) -> Iterator[Limit]:
    where = f"{path}: [{'.'.join(keys)}]"
    for name, value in _table(table, where).items():
        if name not in names:
            raise CompileError(f"{where}: unknown budget {name!r}; there are {', '.join(names)}")
        line = lines.get((*keys, name))
        yield Limit(name, _limit(value, f"{where} {name}"), target, monitor, line)


def _lines(path: Path) -> dict[tuple[str, ...], int]:
    """The line of each key, for annotations, where the file is written as people write such."""
    found: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if text.lstrip().startswith("["):
            table = _path_of(text)
        elif "=" in text:
            found[table + _path_of(f"{text.partition('=')[0]} = 0")] = number
    return found


def _path_of(line: str) -> tuple[str, ...]:
    """Of a heading or a key, quoted or not; () of anything else."""
    try:
        inner: Any = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return ()
    keys = []
    while isinstance(inner, dict) and len(inner) == 1:
        ((key, inner),) = inner.items()
        keys.append(key)
    return tuple(keys)


def require(lines: list[BudgetLine]) -> None:
    """Raises BudgetError unless every budget is met, and UnmeasuredError if all that were measured
    are, but one was not."""
    missed = [str(line) for line in lines if line.over is not None]
    if missed:
        raise BudgetError("budget missed: " + "; ".join(missed))
    unknown = [str(line) for line in lines if line.measured is None]
    if unknown:
        raise UnmeasuredError("budget not measured: " + "; ".join(unknown))
