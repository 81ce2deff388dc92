"""The machine and the programs that a measurement was made with."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from edgemon.runtime import _native
from edgemon.targets import Target

GOVERNOR = Path("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
BUILDERS = re.compile(rb"GCC: \([^)\0]*\) [\d.]+|clang version [\w.+~-]+")  # in .comment
SAME = ("processor", "machine", "interpreter", "kernels", "threads", "compiler", "governor")


def environment(target: Target, threads: int, kernels: str, backend: str) -> dict[str, Any]:
    """The block ``environment`` of ``bench --json``; None where the system does not tell."""
    return {
        "edgemon": version("edgemon"),
        "interpreter": backend,
        "kernels": kernels,
        "threads": threads,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "machine": platform.machine(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "processors": os.cpu_count(),
        "governor": _governor(),
        "load_average": list(os.getloadavg()) if hasattr(os, "getloadavg") else None,
        "compiler": _built_by(),
        "target": target.name,
        "target_compiler": " ".join((target.cc, *target.cflags)),
    }


def differences(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """What makes times of two blocks two machines' times, one sentence each."""
    return [
        f"{key}: {old.get(key)} before, {new.get(key)} now"
        for key in SAME
        if old.get(key) != new.get(key)
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(v.partition(":")[2].strip() for v in lines if v.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def _governor() -> str | None:
    try:
        return GOVERNOR.read_text().strip()
    except OSError:
        return None


def _built_by() -> str | None:
    """The compiler of the runtime that was timed: it leaves its name in the extension."""
    file = getattr(_native, "__file__", None)
    found = BUILDERS.search(Path(file).read_bytes()) if file else None
    return found.group().decode() if found else None
