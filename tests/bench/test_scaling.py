"""``edgemon scaling``: exponents, their intervals, and what is drawn."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from edgemon.bench import scaling
from edgemon.bench.op_programs import sweeps
from tests.command_line import edgemon, refused


def test_the_exponent_of_a_power_is_found_and_its_interval_holds_it() -> None:
    sizes = 2.0 ** np.arange(3, 10)
    exact = scaling.Exponent.of(sizes, 7 * sizes**1.5)
    assert exact.k == pytest.approx(1.5)
    assert exact.high - exact.low < 1e-6
    rng = np.random.default_rng(0)
    held = 0
    for _ in range(400):
        found = scaling.Exponent.of(sizes, sizes * np.exp(rng.normal(0, 0.2, len(sizes))))
        held += found.low <= 1 <= found.high
    assert 0.92 < held / 400 < 0.98  # 95 %


def test_the_tables_grow_with_what_is_said_to_grow() -> None:
    for sweep in sweeps():
        sizes = [p.program.nodes[-1].tables for p, _ in sweep.programs]
        elements = [max(t.size for t in tables) for tables in sizes]
        assert all(1.8 < b / a < 2.2 for a, b in pairwise(elements)), sweep.what
        for probe, base in sweep.programs:
            assert len(probe.program.nodes) == len(base.program.nodes) + 1
            assert probe.program.taps == base.program.taps


def test_every_sweep_is_printed_and_drawn(tmp_path: Path) -> None:
    done = edgemon("scaling", "--rounds", "1", "--json", "--plot", tmp_path / "a.svg")
    found = json.loads(done.stdout)["sweeps"]
    named = ["features", "classes", "trees", "boxes", "bins", "rows"]
    assert [line["what"] for line in found] == named
    for line in found:
        assert 0.9 < line["exponents"]["bytes"]["k"] < 1.1  # of bytes, which no noise touches
        assert min(line["nanoseconds"]) > 0
    drawn = (tmp_path / "a.svg").read_text()
    assert drawn.startswith("<?xml")
    assert "affine" in drawn


def test_a_plot_that_cannot_be_drawn_is_refused_before_anything_is_measured(
    tmp_path: Path,
) -> None:
    assert ".svg, .png, .pdf" in refused("scaling", "--plot", tmp_path / "a.txt")
    assert "no folder" in refused("scaling", "--plot", tmp_path / "none" / "a.svg")
