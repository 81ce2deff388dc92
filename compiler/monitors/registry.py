"""Monitors that other packages bring: entry points of the group ``edgemon.monitors``.

A package says in its ``pyproject.toml``::

    [project.entry-points."edgemon.monitors"]
    margin = "its_module:MarginMonitor"

and is found by ``--monitor margin`` where it is installed beside edgemon. Nothing is imported
before its name is asked for.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator
from importlib.metadata import entry_points
from typing import Any

from edgemon.compiler.errors import CompileError
from edgemon.compiler.monitors.estimator import SEEDS, MonitorEstimator

GROUP = "edgemon.monitors"
NAME = re.compile(r"[a-z][a-z0-9_]*")  # what ``--monitor`` and ``--taps`` can name


def names() -> list[str]:
    """The names of all monitors that packages bring."""
    return sorted({entry.name for entry in entry_points(group=GROUP)})


def load(name: str, own: Collection[str]) -> type[MonitorEstimator] | None:
    """The monitor that a package brings by this name, None if none does. Raises CompileError if it
    cannot be taken; ``own`` are the names that edgemon has itself."""
    found = tuple(entry_points(group=GROUP, name=name))
    if not found:
        return None
    packages = sorted({e.dist.name for e in found if e.dist is not None})
    if name in own or len(found) > 1:
        other = "edgemon has a monitor of that name" if name in own else "one name is for one"
        raise CompileError(
            f"--monitor {name}: brought by {' and '.join(packages)}, but {other}; "
            "remove a package, or let it name its monitor otherwise"
        )
    where = f"--monitor {name}: {found[0].value} of the package {' '.join(packages)}"
    try:
        monitor = found[0].load()
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())
        raise CompileError(f"{where} cannot be imported ({text})") from None
    if not (isinstance(monitor, type) and issubclass(monitor, MonitorEstimator)):
        raise CompileError(f"{where} is not a class derived from MonitorEstimator")
    if (kind := getattr(monitor, "kind", None)) != name:
        raise CompileError(f"{where} has kind={kind!r}, and must have the entry point's name")
    for fault in faults(monitor):
        raise CompileError(
            f"{where} breaks the contract: {fault}; let its package call "
            "edgemon.compiler.checks.check_monitor"
        )
    return monitor


def settings(monitor: type[MonitorEstimator]) -> dict[str, Any]:
    """What ``--monitor`` may set, with the defaults."""
    return {
        name: p.default
        for name, p in inspect.signature(monitor).parameters.items()
        if name not in monitor.from_model
    }


def faults(monitor: type[MonitorEstimator]) -> Iterator[str]:
    """What is wrong with what a class declares."""
    if lacking := sorted(getattr(monitor, "__abstractmethods__", ())):
        yield f"it does not define {', '.join(lacking)}"
    if monitor.fit is not MonitorEstimator.fit:
        yield "it overrides fit, which checks and calls _fit: define _fit"
    if not NAME.fullmatch(getattr(monitor, "kind", "")):
        yield "kind must be a name of lower-case letters, digits and underscores"
    if not getattr(monitor, "what", ""):
        yield "what, its one line for people, is missing"
    parameters = inspect.signature(monitor).parameters
    if absent := sorted({"taps", *monitor.from_model} - parameters.keys()):
        yield f"its constructor lacks {', '.join(absent)}"
    if bare := [n for n, p in parameters.items() if p.default is p.empty]:
        yield f"its constructor has no default for {', '.join(bare)}"
        return
    known = settings(monitor)
    limits = {**monitor.limits, **({"seed": SEEDS} if "seed" in known else {})}
    if unknown := sorted({*monitor.limits, *monitor.choices} - known.keys()):
        yield f"it limits {', '.join(unknown)}, which its constructor does not have"
    for name, default in known.items():
        if isinstance(default, bool):
            continue
        if isinstance(default, str):
            if default not in monitor.choices.get(name, ()):
                yield f"{name}={default!r} is none of the choices that it declares"
        elif isinstance(default, int | float):
            least, most = limits.get(name, (1, 0))
            if not least <= default <= most:
                yield f"{name}={default!r} is not within limits that it declares"
        else:
            yield f"{name}={default!r} cannot be typed as a setting; name it in from_model"
