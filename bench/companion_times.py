"""What companion models of a bundle take: their time, and the bytes of their files."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from edgemon.bench.latency import Distribution
from edgemon.compiler.models.model import CompanionFile
from edgemon.compiler.terminal import Terminal
from edgemon.runtime.taps import TapReader

ROUNDS = 50  # of a companion by itself


def measured(reader: TapReader, inputs: Sequence[npt.NDArray[Any]]) -> dict[str, Distribution]:
    """Microseconds of an inference of each companion, by its view."""
    found = {}
    for view, companion in reader.companions.items():
        us = []
        for i in range(ROUNDS):
            x = inputs[i % len(inputs)]
            output = reader.classifier.output(0)
            start = time.perf_counter_ns()
            companion.run(x, output)
            us.append((time.perf_counter_ns() - start) / 1e3)
        found[view] = Distribution.of(np.array(us))
    return found


def to_json(
    files: Sequence[CompanionFile], us: Mapping[str, Distribution], model_us: float
) -> dict[str, Any]:
    """For ``bench --json``; nothing without companions."""
    found = [
        {
            "view": c.view, "file": c.file, "bytes": c.info.size, "us": us[c.view].to_json(),
            "share_of_model": us[c.view].min / model_us,
        }
        for c in files
    ]  # fmt: skip
    return {"companions": found} if found else {}


def show(terminal: Terminal, document: Mapping[str, Any]) -> None:
    """The same for people."""
    for companion in document.get("companions", ()):
        terminal.note(
            f"companion {companion['file']}: {companion['bytes']:,} bytes, "
            f"{companion['us']['min']:.0f} us an image ({companion['share_of_model']:.0%} of the "
            "model), in the overhead and in the shares below"
        )
