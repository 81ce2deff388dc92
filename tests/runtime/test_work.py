"""The work of an evaluation: C states what the compiler counts, and it can be limited (SEC3)."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.cost import bill as cost
from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.compiler.program.patterns import packed
from edgemon.runtime import Session, monitor
from edgemon.runtime.errors import ArtifactError
from edgemon.runtime.evaluation import Evaluation
from edgemon.runtime.monitor import MAX_WORK, VARIABLE
from edgemon.runtime.monitor import Monitor as LoadedMonitor
from tests.compiler.op_cases import NAMES, program_of


def artifact(program: Program, self_test: flat.SelfTest | None = None) -> bytes:
    return flat.write(flat.Artifact(program, "00" * 32, {}, self_test))


def heavy(nodes: int, indices: int = 1 << 10) -> Program:
    """A small file whose nodes each exponentiate a million numbers."""
    b = Builder([Tap("x", "float32", 8)])
    predicted = b.node("argmax", 0)
    wide = b.node("gather", 0, tables=[np.arange(indices, dtype=np.uint32) % 8])
    while b.value(wide).length < 1 << 20:
        wide = b.node("concat", wide, wide)
    for i in range(nodes):
        channels = np.array([1 << i], np.uint32)
        score = b.node("max", b.node("logsumexp", wide, tables=[channels]))
    return b.program(predicted, [Monitor("heavy", score, 1.0, 0.5)])


@pytest.mark.parametrize(("op", "dtype"), NAMES)
def test_c_states_what_the_compiler_counts(op: str, dtype: str) -> None:
    program = program_of(op, dtype)
    assert LoadedMonitor(artifact(program)).work == cost.work(program)


def test_work_by_hand() -> None:
    b = Builder([Tap("x", "float32", 6), Tap("codes", "int8", 4)])
    y = b.node("argmax", 1)
    corners = np.zeros(3 * 6, np.float32)
    first = np.array([0, 2, 2, 3, 3], np.uint32)
    box = b.node("boxes", 0, y, tables=[corners, corners, np.ones(6, np.float32), first])
    none = np.zeros(0, np.float32)
    nowhere = np.zeros(5, np.uint32)
    far = b.node("boxes", 0, y, tables=[none, none, np.ones(6, np.float32), nowhere])
    leaf = 0x7FFFFFFF
    nodes = np.array([9, 1 << 16, leaf, 1 << 16, leaf, 2 << 16], np.uint32)
    forest = [nodes, np.array([0, 5, 7], np.int32), np.array([0, 1], np.uint32)]
    tree = b.node("trees", 1, tables=forest)
    patterns = packed(np.eye(3, 4, dtype=bool))
    empty = np.zeros(0, np.uint32)
    known = b.node("hamming", 1, y, tables=[np.zeros(4, np.int32), empty, patterns, first])
    scores = [box, far, tree, known]
    program = b.program(y, [Monitor(f"m{i}", s, 1, 0) for i, s in enumerate(scores)])
    by_hand = 6 + 4 + 2 * 2 * 6 + 6 + (1 + 1) + (4 + 2 * 1)
    assert LoadedMonitor(artifact(program)).work == by_hand == cost.work(program)


def test_a_small_file_of_much_work_is_refused() -> None:
    data = artifact(heavy(5))
    assert len(data) < 16_000
    with pytest.raises(ArtifactError, match=r"an evaluation takes .*EDGEMON_MAX_WORK") as refused:
        LoadedMonitor(data)
    assert "\n" not in str(refused.value)
    work = LoadedMonitor(data, max_work=1 << 40).work
    assert work > MAX_WORK
    assert LoadedMonitor(data, max_work=work).work == work
    with pytest.raises(ArtifactError, match="limit of"):
        LoadedMonitor(data, max_work=work - 1)


def test_the_bomb_of_the_cases_is_refused(shared: Path) -> None:
    """3.4 kB that took 3.8 s and 8.4 MB an evaluation."""
    bomb = shared / "data" / "cases" / "14-hostile-artifacts" / "bomb4k.emon"
    if not bomb.is_file():
        pytest.skip(f"{bomb} is missing: the cases are not in the repository")
    start = time.perf_counter()
    with pytest.raises(ArtifactError, match="an evaluation takes"):
        LoadedMonitor(bomb.read_bytes())
    assert time.perf_counter() - start < 1


def test_a_self_test_of_much_work_is_refused() -> None:
    program = heavy(2)
    rows = np.zeros((64, 8), np.float32)
    expected = Evaluation(
        np.zeros(64, np.uint8), np.zeros(64, np.int32), np.zeros(64, np.int32),
        np.zeros((64, 1), np.uint8), (np.zeros(64, np.float32),),
    )  # fmt: skip
    data = artifact(program, flat.SelfTest((rows,), expected))
    with pytest.raises(ArtifactError, match="its self-test takes"):
        LoadedMonitor(data)


def test_the_environment_raises_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    data = artifact(heavy(5))
    monkeypatch.setenv(VARIABLE, str(1 << 40))
    assert LoadedMonitor(data).work > MAX_WORK
    monkeypatch.setenv(VARIABLE, "")
    assert monitor.most_work() == MAX_WORK
    for nonsense in ("many", "-1", "1e9", "9" * 40):
        monkeypatch.setenv(VARIABLE, nonsense)
        with pytest.raises(ArtifactError, match="not a number of element operations"):
            LoadedMonitor(data)


def test_a_session_takes_a_limit(bundle: Path) -> None:
    assert Session(bundle, max_work=1 << 20).monitors
    with pytest.raises(ArtifactError, match=r"limit of 1; .*Session\(max_work=\)"):
        Session(bundle, max_work=1)


def test_a_self_test_leaves_other_threads_running() -> None:
    program = heavy(3)
    rows = np.zeros((6, 8), np.float32)
    loaded = LoadedMonitor(artifact(program))
    found = loaded.evaluate([rows])
    loaded = LoadedMonitor(artifact(program, flat.SelfTest((rows,), found)))
    ticks, done = [], threading.Event()

    def count() -> None:
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.002)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    loaded.self_test()
    end = time.perf_counter()
    done.set()
    thread.join()
    assert sum(start < t < end for t in ticks) >= 3


def test_validation_takes_time_in_proportion() -> None:
    """Twice the file, not four times the time: no check looks at what another has seen."""

    def seconds(size: int) -> float:
        program = heavy_tables(size)
        data = artifact(program)
        best = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            LoadedMonitor(data)
            best = min(best, time.perf_counter() - start)
        return best

    assert seconds(200_000) < 12 * seconds(50_000)


def heavy_tables(size: int) -> Program:
    b = Builder([Tap("x", "float32", 8)])
    predicted = b.node("argmax", 0)
    index = (np.arange(size) % 8).astype(np.uint32)
    score = b.node("max", b.node("gather", 0, tables=[index]))
    rng = np.random.default_rng(1)
    far = b.node("distances", 0, tables=[rng.normal(0, 1, size // 8 * 8).astype(np.float32)])
    return b.program(
        predicted, [Monitor("a", score, 1.0, 0.5), Monitor("b", b.node("max", far), 1.0, 0.5)]
    )
