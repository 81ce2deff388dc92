"""``edgemon op-times``: its programs, its fit, and that what it prints is a profile's section."""

from __future__ import annotations

import tomllib
from pathlib import Path

import numpy as np
import pytest

from edgemon import targets
from edgemon.bench import op_times
from edgemon.compiler.cost import timing
from edgemon.compiler.program.ops import DEVICE_OPS
from edgemon.compiler.program.ops.op import Op
from edgemon.compiler.program.ops.vectors import Select
from edgemon.compiler.reporter import unseen
from edgemon.targets import PARTS, OpTimes
from tests.command_line import document, edgemon, refused


@pytest.fixture(autouse=True)
def few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested here does not depend on how well times are measured."""
    monkeypatch.setattr(op_times, "ROUNDS", 1)


def test_every_part_occurs_in_several_sizes() -> None:
    programs = [p.program for p in op_times.probes()]
    counts = [timing.parts(p) for p in programs]
    for part in PARTS.keys() - {"evaluation"}:
        assert len({c[part] for c in counts if c.get(part)}) >= 3, part
    matrix = np.array([[c.get(part, 0) for part in PARTS] for c in counts])
    assert np.linalg.matrix_rank(matrix) == len(PARTS)  # so that each can be told


def test_ops_with_loops_of_their_own_are_timed() -> None:
    timed = {n.op for p in op_times.probes() for n in p.program.nodes}
    like_others = Op.parts, Select.parts  # counted as elements, or as a copy
    own = {op.name for op in DEVICE_OPS.values() if type(op).parts not in like_others}
    assert own <= timed, f"no program of bench/op_programs.py has {own - timed}"


def test_the_fit_finds_the_times_that_made_the_measurements() -> None:
    rng = np.random.default_rng(0)
    true = OpTimes({part: float(f"{v:.3g}") for part, v in zip(
        PARTS, rng.uniform(0.5, 5, len(PARTS)), strict=True)})  # fmt: skip
    programs = [p.program for p in op_times.probes()]
    measured = np.array([timing.nanoseconds(p, true) for p in programs])
    found = op_times.fit(programs, measured)
    for part, value in true.nanoseconds.items():
        assert found.nanoseconds[part] == pytest.approx(value, rel=0.01), part


def test_no_time_is_negative_however_noisy() -> None:
    rng = np.random.default_rng(1)
    programs = [p.program for p in op_times.probes()]
    found = op_times.fit(programs, rng.uniform(1, 100, len(programs)))
    assert all(v >= 0 for v in found.nanoseconds.values())


def test_what_it_prints_is_a_section_of_a_profile(tmp_path: Path) -> None:
    result = edgemon("op-times", "--toml")
    assert result.exit_code == 0, result.stderr
    printed = tomllib.loads(result.stdout)
    own = Path(targets.__file__).parent / "profiles" / f"{targets.DEFAULT}.toml"
    head = own.read_text().partition("[nanoseconds]")[0]
    path = tmp_path / "board.toml"
    path.write_text(head + result.stdout)
    times = targets.load(str(path)).times
    assert times is not None
    assert times.nanoseconds == printed["nanoseconds"]


def test_two_forms_at_once_are_refused() -> None:
    """Of --json and --toml the first was ignored."""
    assert "--json and --toml are two forms of the same" in refused("op-times", "--json", "--toml")


def test_the_table_and_the_document() -> None:
    found = document("op-times")
    assert found["nanoseconds"].keys() == PARTS.keys()
    assert len(found["programs"]) == len(list(op_times.probes()))
    shown = edgemon("op-times").stdout
    assert all(what in shown for what in PARTS.values())
    assert "estimate to measurement of the" in shown


def test_all_programs_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The loader accepts them, and no row is refused: a refusal would be fast, and no time."""
    monkeypatch.setattr(op_times, "ROWS", 2)
    measured = op_times.measure(unseen)
    assert (measured.measured > 0).all()
    assert measured.estimated.shape == measured.measured.shape
