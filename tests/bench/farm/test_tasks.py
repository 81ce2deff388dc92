"""Answers by content: they are stored, found again, and the same wherever they were made."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import distributed
import numpy as np
import pytest

from edgemon.bench.compare.panel import PanelOptions
from edgemon.bench.errors import BenchError
from edgemon.bench.farm import answers
from edgemon.bench.farm.answers import Answers
from edgemon.bench.farm.compiled import CERTIFIED, NATIVE, Judgement
from edgemon.bench.farm.spec import FarmSpec
from edgemon.bench.farm.subjects import Judge
from edgemon.bench.farm.work import FAULTY, MADE, NOVEL, Piece, Place, Workshop
from edgemon.bench.sweep import engine
from edgemon.compiler.reporter import Reporter
from tests.command_line import document, edgemon, refused
from tests.conftest import DEMO

SPEC = """
rows = 40
[faults]
fog = [1, 3, 5]
snow = [1, 3]
saturate = [5]
[[case]]
name = "digits"
model = "digits_int8.tflite"
fit = "digits.npz[0:500]"
calibrate = "digits.npz[500:890]"
test = "digits.npz[890:1395]"
novel = ["novelty.npz"]
full_scale = 16
monitors = ["msp_t", "softmax"]
"""


@pytest.fixture
def spec(tmp_path: Path) -> Path:
    path = tmp_path / "spec.toml"
    path.write_text(SPEC)
    return path


def hashes(store: Path) -> dict[str, str]:
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in store.glob("*.parquet")}


def test_parquet_keeps_everything(tmp_path: Path) -> None:
    verdicts = np.array([0, 2, 3], np.uint8)
    given = Answers(
        {"fault": "fog", "severity": 3, "novel": False},
        np.array([1, -1, 2]), np.array([1, 0, 0]),
        {
            "box:gamma=0.1": Judgement({CERTIFIED: verdicts, NATIVE: verdicts[::-1]},
                                       np.array([0.5, np.inf, -1])),
            "verdict": Judgement({CERTIFIED: verdicts}, None),
        },
    )  # fmt: skip
    given.save(tmp_path / "a.parquet")
    given.save(tmp_path / "b.parquet")
    assert len(set(hashes(tmp_path).values())) == 1
    found = Answers.load(tmp_path / "a.parquet")
    assert found.about == given.about
    np.testing.assert_array_equal(found.labels, given.labels)
    np.testing.assert_array_equal(found.predicted, given.predicted)
    assert list(found.judgements) == list(given.judgements)
    box, both = found.judgements.values()
    np.testing.assert_array_equal(box.verdicts[NATIVE], verdicts[::-1])
    np.testing.assert_array_equal(box.score, [0.5, np.inf, -1])
    assert (set(both.verdicts), both.score) == ({CERTIFIED}, None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(BenchError, match="is damaged; remove it"):
        Answers.load(tmp_path / "a.parquet")


def test_a_second_run_resumes_from_the_store(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = ("farm", spec, "--root", DEMO, "--out", tmp_path / "out", "--store", tmp_path / "store")
    first = document(*given)
    before = hashes(tmp_path / "store")
    assert len(before) == 1 + 1 + 5  # the clean rows, novel ones, and what can be made of grey
    lost = sorted(before)[0]
    (tmp_path / "store" / lost).unlink()
    made: list[Piece] = []
    once = Workshop.answers

    def counted(shop: Workshop, piece: Piece, monitors: Any) -> Answers:
        made.append(piece)
        return once(shop, piece, monitors)

    monkeypatch.setattr(Workshop, "answers", counted)
    assert document(*given) == first
    assert len(made) == 2  # the lost one, and the one that is not available, which may become so
    assert hashes(tmp_path / "store") == before


def test_a_key_is_of_what_is_read_and_of_nothing_else(spec: Path, tmp_path: Path) -> None:
    class Fixed:
        def __init__(self, content: bytes) -> None:
            self._content = content

        def content(self) -> bytes:
            return self._content

    def key(text: str, piece: Piece = Piece(MADE, "fog", 1), of: bytes = b"a") -> str:  # noqa: B008
        spec.write_text(text)
        read = FarmSpec.read(spec, DEMO)
        scratch = tmp_path / "scratch"
        scratch.mkdir(exist_ok=True)
        shop = Workshop(Place(read.cases[0], read, PanelOptions()), scratch, Reporter())
        monitors: dict[str, Judge] = {"m": Fixed(of)}  # type: ignore[dict-item]
        return shop.key(piece, monitors)

    own = key(SPEC)
    assert key(SPEC.replace("snow = [1, 3]", "snow = [4]")) == own
    novel = SPEC.replace('novel = ["novelty.npz"]', 'novel = ["digits.npz[0:40]"]')
    assert key(novel) == own
    assert key(SPEC.replace('"softmax"', '"energy"')) == own  # its artifacts are what matters
    others = {
        key(SPEC, Piece(MADE, "fog", 2)), key(SPEC, of=b"b"),
        key(SPEC.replace("rows = 40", "rows = 41")), key("seed = 1\n" + SPEC),
        key(SPEC.replace("full_scale = 16", "full_scale = 17")),
        key(SPEC.replace("[890:1395]", "[891:1395]")),
    }  # fmt: skip
    assert len(others | {own}) == 7
    with np.load(
        DEMO / "digits.npz"
    ) as rows:  # the same images under other numbers draw other noise
        x, y = rows["x"][790:1395], rows["y"][790:1395]
    np.savez(tmp_path / "moved.npz", x=x, y=y)
    assert key(SPEC.replace("digits.npz[890:1395]", f"{tmp_path}/moved.npz[100:605]")) != own
    real = [
        key(SPEC + f'faulty = ["{rows}"]\n', Piece(FAULTY, rows))
        for rows in ("digits.npz[0:40]", "digits.npz[0:41]")
    ]
    assert len({*real, key(novel, Piece(NOVEL, "digits[0:40]")), own}) == 4


def test_a_worker_that_is_killed_costs_its_task_alone(spec: Path, tmp_path: Path) -> None:
    """Two workers of a scheduler, one killed in the middle: the same content as here."""
    local, store = tmp_path / "local", tmp_path / "store"
    run = ("farm", spec, "--root", DEMO, "--out", tmp_path / "out")
    wanted = document(*run, "--store", local)
    killed: list[int] = []

    def kill(pids: list[int]) -> None:
        while not list(store.glob("*.parquet")):
            time.sleep(0.01)
        killed.append(len(list(store.glob("*.parquet"))))
        os.kill(pids[0], signal.SIGKILL)

    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        killer = threading.Thread(target=kill, args=(pids,), daemon=True)
        killer.start()
        address = cluster.scheduler_address
        found = document(*run, "--store", store, "--scheduler", address)
        killer.join(10)
    assert killed
    assert killed[0] < 7  # of seven files: it was in the middle
    assert found == wanted
    assert hashes(store) == hashes(local)


def test_two_processes_give_what_one_gives(spec: Path, tmp_path: Path) -> None:
    """And one of them that is killed costs its task alone."""
    one, two = tmp_path / "one", tmp_path / "two"
    run = ("farm", spec, "--root", DEMO, "--out", tmp_path / "out")
    wanted = document(*run, "--store", one)
    killed: list[int] = []

    def kill() -> None:
        while not list(two.glob("*.parquet")):
            time.sleep(0.01)
        killed.append(len(list(two.glob("*.parquet"))))
        workers = [p.pid for p in multiprocessing.active_children() if p.pid]
        os.kill(workers[0], signal.SIGKILL)

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    found = document(*run, "--store", two, "--jobs", "2")
    killer.join(10)
    assert killed
    assert killed[0] < 7
    assert found == wanted
    assert hashes(two) == hashes(one)


def test_what_is_missing_is_said_before_a_long_run(
    spec: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = ("farm", spec, "--root", DEMO, "--out", tmp_path / "out")
    monkeypatch.setattr(engine, "TIMEOUT_S", 0.5)
    assert "no Dask scheduler answers there" in refused(
        *run, "--scheduler", "tcp://127.0.0.1:9", "--store", tmp_path / "store"
    )
    monkeypatch.setattr(answers, "find_spec", lambda _: None)
    assert "edgemon[cluster]" in refused(*run, "--store", tmp_path / "store")
    assert "leave out --scheduler" in refused(*run, "--jobs", "2", "--scheduler", "tcp://a:9")
    monkeypatch.setattr(engine, "find_spec", lambda _: None)
    assert "needs dask.distributed" in refused(*run, "--scheduler", "tcp://127.0.0.1:9")


def test_a_place_can_be_sent(spec: Path) -> None:
    import pickle

    read = FarmSpec.read(spec, DEMO)
    place = Place(read.cases[0], read, PanelOptions())
    assert pickle.loads(pickle.dumps(place)) == place
    assert hash(replace(place)) == hash(place)
    assert edgemon("farm", "--help").exit_code == 0
