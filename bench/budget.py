"""Budgets: ``overhead=1.02,latency_us=200,flash_bytes=65536,ram_bytes=4096,monitor_ns=5000``."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from edgemon.bench.errors import BenchError
from edgemon.compiler.errors import BudgetError

UNITS = {
    "overhead": "ratio of minima, model + monitors to model alone",
    "latency_us": "99th percentile of model + monitors, microseconds",
    "monitor_ns": "99th percentile of all monitors in C, nanoseconds",
    "flash_bytes": "artifact and runtime code on the target",
    "ram_bytes": "workspace, structs and stack on the target",
}


@dataclass(frozen=True)
class BudgetLine:
    """One budget and what was measured against it."""

    name: str
    limit: float
    measured: float

    @property
    def met(self) -> bool:
        return self.measured <= self.limit

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "met": self.met}


def parse(text: str) -> dict[str, float]:
    """Limits by name. Raises BenchError on an unknown name or a bad number."""
    limits: dict[str, float] = {}
    for part in filter(None, (p.strip() for p in text.split(","))):
        name, _, value = part.partition("=")
        if name not in UNITS:
            raise BenchError(f"--budget: unknown budget {name!r}; there are {', '.join(UNITS)}")
        try:
            limits[name] = float(value)
        except ValueError:
            raise BenchError(f"--budget {part}: {value!r} is not a number") from None
        if not limits[name] >= 0:
            raise BenchError(f"--budget {part}: must not be negative")
    return limits


def check(limits: dict[str, float], measured: dict[str, float]) -> list[BudgetLine]:
    """Each limit beside its measurement."""
    return [BudgetLine(name, limit, measured[name]) for name, limit in limits.items()]


def require(lines: list[BudgetLine]) -> None:
    """Raises BudgetError unless every budget is met."""
    missed = [f"{v.name} is {v.measured:.6g}, over {v.limit:.6g}" for v in lines if not v.met]
    if missed:
        raise BudgetError("budget missed: " + "; ".join(missed))
