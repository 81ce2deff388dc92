"""An artifact of every format version that there has been, opened for ever.

Each was written, and evaluated, by the last compiler and C runtime of its version: with the ops and
sections of that time (1.0: the ops 1 to 24; 1.1: all of today's, mirrored taps and a drift test).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ops import DEVICE_OPS, OPS
from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import Monitor
from tests.runtime.c_compilers import C_FLAGS, SOURCES, C, need, run
from tests.runtime.versions import make

KEPT = sorted(make.HERE.glob("*.emon"))
VERSIONS = [path.stem for path in KEPT]
Recorded = dict[str, npt.NDArray[Any]]


def recorded(path: Path) -> tuple[list[npt.NDArray[Any]], Recorded]:
    """Rows of the taps, and what that version made of them."""
    with np.load(path.with_suffix(".npz")) as found:
        arrays = dict(found)
    return [arrays[f"tap{i}"] for i in range(len(arrays)) if f"tap{i}" in arrays], arrays


def expect_same(found: Evaluation, then: Recorded) -> None:
    for name in ("verdict", "predicted", "verdicts"):
        np.testing.assert_array_equal(getattr(found, name), then[name], name)
    assert f"score{len(found.scores)}" not in then
    for i, scores in enumerate(found.scores):
        assert scores.dtype == then[f"score{i}"].dtype
        assert scores.tobytes() == then[f"score{i}"].tobytes()


def test_the_version_that_is_written_is_kept() -> None:
    """And every one before it."""
    assert [f"{flat.MAJOR}.{minor}" for minor in range(flat.MINOR + 1)] == VERSIONS, (
        "run `python -m tests.runtime.versions.make` and keep what it writes"
    )


@pytest.mark.parametrize("path", KEPT, ids=VERSIONS)
def test_verdicts_and_scores_are_those_of_its_version(path: Path) -> None:
    data = path.read_bytes()
    assert f"{data[8]}.{data[10]}" == path.stem
    taps, then = recorded(path)
    assert set(np.unique(then["verdict"])) == {0, 1, 2}
    ops = {OPS[node.op].number for node in flat.read(data).program.nodes}
    last = {"1.0": 24, "1.1": 26, "1.2": 26, "1.3": 28, "1.4": 28}.get(path.stem, max(DEVICE_OPS))
    assert ops == {number for number in DEVICE_OPS if number <= last}
    monitor = Monitor(data)
    monitor.self_test()
    expect_same(monitor.evaluate(taps), then)
    expect_same(reference.evaluate(flat.read(data).program, taps), then)
    if monitor.drift is not None:
        state = make.counted(monitor, monitor.evaluate(taps))
        np.testing.assert_array_equal(state, then["drift"])
    assert (monitor.drift is None) == (path.stem == "1.0")
    if monitor.accuracy is not None:
        estimates = make.estimated(monitor, monitor.evaluate(taps))
        np.testing.assert_array_equal(estimates, then["accuracy"])
    assert (monitor.accuracy is None) == (path.stem in {"1.0", "1.1", "1.2", "1.3"})
    assert [c.view for c in monitor.companions] == ["odin", "companion"] * (path.stem >= "1.5")


@pytest.mark.parametrize("path", KEPT, ids=VERSIONS)
def test_what_is_read_of_it_can_be_written_again(path: Path) -> None:
    """By the present version, with the same results."""
    taps, then = recorded(path)
    read = flat.read(path.read_bytes())
    again = flat.write(read)
    assert again[10] == (flat.MINOR if read.companions else flat.BEFORE)
    assert flat.read(again).companions == read.companions
    expect_same(Monitor(again).evaluate(taps), then)


def test_c_opens_all_and_their_self_tests_agree(tmp_path: Path) -> None:
    """Its vectors state verdicts and scores of that version, to the bit."""
    program = tmp_path / "evaluate"
    run(need("gcc"), *C_FLAGS, C / "examples" / "evaluate.c", *SOURCES, "-o", program)
    for path in KEPT:
        assert Monitor(path.read_bytes())._native.self_tests == make.TESTED
        assert run(program, path).endswith(": ok\n")
