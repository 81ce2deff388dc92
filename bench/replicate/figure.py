"""Figure 3: MCC of every method on every model, as bars; one panel each for the printed numbers,
the published methods recomputed, and the deployable forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgemon.bench.errors import BenchError

METHODS = ("deepinfer", "prophecy", "selfchecker")
PANELS = {
    "printed": "as printed",
    "published": "as published, recomputed (selfchecker: scored with the true labels)",
    "deployable": "deployable",
}
WIDTH = 0.27
NEEDED = "the bar chart needs matplotlib: pip install 'edgemon[bench]'"


def require_matplotlib() -> None:
    """Raises BenchError in its absence, before a long run."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise BenchError(NEEDED) from None


def bar_chart(bars: dict[str, dict[str, dict[str, float | None]]], path: Path) -> None:
    """Write ``bars[panel][method][model]`` as SVG or PNG, by the file's ending."""
    require_matplotlib()
    from matplotlib.figure import Figure

    models = list(dict.fromkeys(m for panel in bars.values() for v in panel.values() for m in v))
    figure = Figure(figsize=(max(6.0, 0.42 * len(models)), 8.5), layout="constrained")
    axes: Any = figure.subplots(len(PANELS), 1, sharex=True, sharey=True)
    for axis, (panel, title) in zip(axes, PANELS.items(), strict=True):
        for i, method in enumerate(METHODS):
            values = bars[panel].get(method, {})
            shown = [(j, values[m]) for j, m in enumerate(models) if values.get(m) is not None]
            places = [j + (i - 1) * WIDTH for j, _ in shown]
            axis.bar(places, [v for _, v in shown], WIDTH, label=method, color=f"C{i}")
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set_title(title, loc="left", fontsize=10)
        axis.set_ylabel("MCC")
        axis.grid(axis="y", alpha=0.3)
        axis.set_axisbelow(True)
    axes[0].legend(
        ncols=len(METHODS), loc="lower right", bbox_to_anchor=(1, 1), frameon=False, fontsize=9
    )
    axes[-1].set_xticks(range(len(models)), models, rotation=90)
    axes[-1].set_xlim(-0.7, len(models) - 0.3)
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
