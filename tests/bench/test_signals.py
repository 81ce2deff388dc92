"""``edgemon compare --signals``: what a signal costs, and what a fusion loses without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from edgemon.bench.compare.judges import RecordedRows
from edgemon.bench.compare.panel import Panel, PanelOptions, Split
from edgemon.bench.compare.show_signals import signals
from edgemon.bench.compare.signals import signal_table
from edgemon.compiler.monitors.fusion.fusion import FusionMonitor
from edgemon.compiler.promise.thresholds import FalseAlarmPromise
from edgemon.compiler.terminal import Terminal
from tests.bench.test_compare import recorded, scod, single

ROWS = 300


@pytest.fixture(scope="module")
def panel(tmp_path_factory: pytest.TempPathFactory) -> Panel:
    rows: RecordedRows = recorded(tmp_path_factory.mktemp("recordings"), "int8", ROWS)
    orders = [np.random.default_rng(i).permutation(2 * ROWS) for i in range(2)]
    splits = [Split(np.sort(o[:ROWS]), np.sort(o[ROWS:])) for o in orders]
    return Panel(rows, splits, False, PanelOptions(FalseAlarmPromise()))


def fusion_of(*names: str) -> FusionMonitor:
    found = scod()
    found.signals = tuple(s for s in found.signals if s.kind in names)
    found.novelty = tuple(s for s in found.novelty if s.kind in names)
    return found


def whole() -> FusionMonitor:
    return fusion_of("msp_t", "second_opinion", "density")


@pytest.fixture(scope="module")
def table(panel: Panel) -> list[dict[str, Any]]:
    return signal_table(panel, whole())


def test_a_gain_is_what_a_fusion_without_the_signal_lacks(
    panel: Panel, table: list[dict[str, Any]]
) -> None:
    rows = {row["signal"]: row for row in table}
    assert list(rows) == ["msp_t", "second_opinion", "density"]
    together = panel.judge(whole())["resplits"]
    for rest in (("msp_t", "second_opinion"), ("msp_t", "density")):
        (gone,) = rows.keys() - set(rest)
        without = panel.judge(fusion_of(*rest))["resplits"]
        for key in ("certified.mcc", "certified.scod_mcc"):
            gain = together[key]["mean"] - without[key]["mean"]
            assert rows[gone]["gains"][key]["mean"] == pytest.approx(gain)
            assert rows[gone]["gains"][key]["of"] == 2
    assert rows["second_opinion"]["gains"]["certified.mcc"]["mean"] != 0
    assert rows["density"]["novelty"]
    assert rows["density"]["kept"] == 1


def test_a_signal_costs_what_it_costs_as_a_monitor(
    panel: Panel, table: list[dict[str, Any]]
) -> None:
    alone = panel.judge(single("second_opinion"))
    (found,) = (row for row in table if row["signal"] == "second_opinion")
    assert found["bytes"] == alone["bytes"]
    assert found["resplits"] == alone["resplits"]


def test_references_stand_beside_signals_without_bytes(
    table: list[dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{**row, "nanoseconds": 1500.0} for row in table]
    fusion = {**rows[0], "monitor": "scod", "signal_table": rows}
    reference = {"reference": "knn", "resplits": table[0]["resplits"]}
    signals(Terminal(markdown=True), fusion, [reference], ["novel"])
    shown = capsys.readouterr().out
    (line,) = [v for v in shown.splitlines() if v.startswith("| no limit: knn ")]
    assert [cell.strip() for cell in line.split("|")[2:4]] == ["n/a", "n/a"]
    assert "what the fusion loses when it is left out" in shown
    assert "SCOD gain" in shown
