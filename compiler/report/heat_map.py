"""Which class breaks under which change of an image, as a plot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgemon.compiler.report.figures import INK, SERIES, inline_figure
from edgemon.runtime.untrusted import printable


def heat_map(local: Sequence[Mapping[str, Any]], name: str) -> str:
    """Of lines with class, property, value and the rate that stays right: the darker, the more
    breaks. Lines of no class are means, and left out; ``name``: of the figure."""
    lines = [line for line in local if line["class"] is not None]
    classes = list(dict.fromkeys(line["class"] for line in lines))
    changes = list(dict.fromkeys((line["property"], line["value"]) for line in lines))
    with inline_figure(name, "Share that stays right", 1.4 + 0.24 * len(changes)) as (
        figure, svg,
    ):  # fmt: skip
        axis: Any = figure.subplots()
        for line in lines:
            x = classes.index(line["class"])
            y = changes.index((line["property"], line["value"]))
            axis.barh(y, 1, left=x, height=0.96, color=SERIES[1], alpha=1 - line["rate"])
            if len(classes) <= 12:
                axis.text(
                    x + 0.5, y, f"{100 * line['rate']:.0f}", ha="center", va="center", color=INK,
                    fontsize=8,
                )  # fmt: skip
        names = [printable(c)[:10] for c in classes]
        axis.set_xticks([i + 0.5 for i in range(len(classes))], names,
                        rotation=90 if len(classes) > 12 else 0)  # fmt: skip
        axis.set_yticks(range(len(changes)), [f"{p} {v:g}" for p, v in changes])
        axis.set_xlim(0, len(classes))
        axis.set_ylim(len(changes) - 0.5, -0.5)
        axis.set_xlabel("class; percent that stay right")
        axis.grid(visible=False)
    return svg[0]
