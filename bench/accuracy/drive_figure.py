"""The picture of a simulated drive."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter


def draw(document: dict[str, Any], path: Path) -> None:
    """Writes an SVG: the window's estimate with its interval against the truth."""
    points = document["points"]
    at = np.array([p["image"] for p in points])
    valid = np.array([p["valid"] for p in points])
    estimate = np.array([p["estimate"] for p in points])
    low, high = np.array([p["interval"] for p in points]).T
    figure = Figure(figsize=(10, 4), layout="constrained")
    axis: Any = figure.subplots()
    axis.fill_between(at, low, high, where=valid, color="C0", alpha=0.25, linewidth=0,
                      label="95 % interval")  # fmt: skip
    axis.plot(at, np.where(valid, estimate, np.nan), color="C0", label="estimate, valid")
    axis.plot(at, np.where(valid, np.nan, estimate), color="C7", linestyle=":",
              label="not valid: drift flag without labels")  # fmt: skip
    axis.plot(at, [p["truth"] for p in points], color="black", linewidth=1, label="truth")
    flagged = np.array([p["flag"] for p in points])
    axis.plot(at[flagged], np.full(flagged.sum(), 0.01), "|", color="C3", label="drift flag")
    for third in (1, 2):
        axis.axvline(third * document["images"], color="0.7", linewidth=0.8)
    axis.set(xlabel="image", ylabel="accuracy of the window", ylim=(0, 1))
    axis.yaxis.set_major_formatter(PercentFormatter(1))
    axis.legend(loc="lower right", fontsize=8, frameon=False)
    figure.savefig(path, metadata={"Date": None})
