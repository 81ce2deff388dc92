"""The plot of what the model's input is given."""

from __future__ import annotations

from typing import Any

from matplotlib.ticker import FuncFormatter

from edgemon.compiler.documents.shown import InputHistogram
from edgemon.compiler.report.figures import MUTED, SERIES, inline_figure


def input_figure(histogram: InputHistogram | None) -> str:
    """Values after preprocessing, against the range that the input can represent; "" without."""
    if histogram is None:
        return ""
    total = sum(histogram["counts"]) + histogram["below"] + histogram["above"]
    with inline_figure("input", "Values of the model's input", 2.5) as (figure, svg):
        axis: Any = figure.subplots()
        shares = [count / total for count in histogram["counts"]]
        axis.stairs(shares, histogram["edges"], fill=True, color=SERIES[0], alpha=0.35)
        axis.stairs(shares, histogram["edges"], color=SERIES[0])
        for end in histogram["range"] or ():
            axis.axvline(end, color=MUTED, linestyle=":")
        axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{100 * v:.3g}%"))
        axis.set_ylim(bottom=0)
        axis.set(xlabel="value of the input, after preprocessing", ylabel="share of values")
    return svg[0]
