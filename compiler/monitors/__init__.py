"""The monitors, by the names that ``--monitor`` takes."""

from __future__ import annotations

import inspect
from typing import Any

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.base import MonitorEstimator, Score
from edgemon.compiler.monitors.box import BoxMonitor
from edgemon.compiler.monitors.deepinfer import DeepInferMonitor
from edgemon.compiler.monitors.prophecy import ProphecyMonitor
from edgemon.compiler.monitors.softmax import EntropyMonitor, SoftmaxMonitor

__all__ = ["MONITORS", "MonitorEstimator", "Score", "parse"]

MONITORS: dict[str, type[MonitorEstimator]] = {
    m.kind: m
    for m in (SoftmaxMonitor, EntropyMonitor, BoxMonitor, ProphecyMonitor, DeepInferMonitor)
}

YES_NO = {"yes": True, "no": False}


def parse(text: str, *, seed: int = 0) -> list[MonitorEstimator]:
    """Estimators of a list like ``"softmax,box:gamma=0.35:tau=0.1,prophecy"``."""
    chosen = [_one(part.strip(), seed) for part in text.split(",") if part.strip()]
    names = [m.kind for m in chosen]
    if not chosen or len(set(names)) != len(names):
        raise CompileError(f"--monitor {text!r}: name each monitor once; there are {_known()}")
    return chosen


def _one(text: str, seed: int) -> MonitorEstimator:
    name, *settings = text.split(":")
    if name not in MONITORS:
        raise CompileError(f"--monitor: unknown monitor {name!r}; there are {_known()}")
    cls = MONITORS[name]
    defaults = {
        key: p.default
        for key, p in inspect.signature(cls).parameters.items()
        if not isinstance(p.default, tuple)  # taps and layers come from the model
    }
    values: dict[str, Any] = {"seed": seed} if "seed" in defaults and seed else {}
    for setting in settings:
        key, separator, value = setting.partition("=")
        if not separator or key not in defaults:
            raise CompileError(
                f"--monitor {name}: unknown setting {setting!r}; it has {', '.join(defaults)}"
            )
        if isinstance(defaults[key], bool):
            if value not in YES_NO:
                raise CompileError(f"--monitor {name}: {key}={value!r} is not yes or no")
            values[key] = YES_NO[value]
            continue
        try:
            values[key] = type(defaults[key])(value)
        except ValueError:
            raise CompileError(f"--monitor {name}: {key}={value!r} is not a number") from None
    estimator = cls(**values)
    estimator.check_settings()
    return estimator


def _known() -> str:
    return ", ".join(MONITORS)
