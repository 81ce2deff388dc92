"""The race: answers beside times, and who did not take part."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

from edgemon.bench.peers import race
from edgemon.bench.peers.contestants import FORESTS, scikit_learn
from edgemon.bench.peers.own import own
from edgemon.bench.peers.work import Contestant, CSource, Function, NotInstalledError, Work
from edgemon.compiler.commands.main import main

if shutil.which("gcc") is None and shutil.which("cc") is None:
    pytest.skip("no C compiler", allow_module_level=True)


def work() -> Work:
    rng = np.random.default_rng(0)
    x = rng.normal(0, 9, (60, 5)).astype(np.float32)
    model = RandomForestClassifier(4, max_depth=3, random_state=0).fit(x, x[:, 0] > x[:, 1])
    return Work("tiny", model, x, model.predict(x).astype(np.int32))


def wrong(_: Work) -> CSource:
    return CSource(
        "#include <stdint.h>\nint32_t answer(const int16_t *x) { return *x > 99; }", "int16_t"
    )


def missing(_: Work) -> Function:
    raise ImportError("No module named 'nowhere'", name="nowhere")


def broken(_: Work) -> CSource:
    return CSource("int answer( { return 0; }")


def refuses(_: Work) -> CSource:
    raise NotInstalledError("it takes no such forest")


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    peers = [
        Contestant("edgemon", own), Contestant("wrong", wrong), Contestant("missing", missing),
        Contestant("broken", broken), Contestant("refuses", refuses),
        Contestant("scikit-learn", scikit_learn),
    ]  # fmt: skip
    return race.one(work(), peers, 2)


def test_answers_stand_beside_times(document: dict[str, Any]) -> None:
    found = {c["name"]: c for c in document["contestants"]}
    assert list(found) == ["edgemon", "wrong", "scikit-learn"]
    assert found["edgemon"]["right"] == found["scikit-learn"]["right"] == 60
    assert found["wrong"]["right"] < 60
    assert all(c["ns"] > 0 for c in found.values())
    assert found["edgemon"]["edgemon_to_it"] == 1
    assert found["scikit-learn"]["edgemon_to_it"] < 0.1
    assert found["edgemon"]["bytes"] > found["wrong"]["bytes"] > 0


def test_instructions_are_counted_where_valgrind_is(document: dict[str, Any]) -> None:
    found = {c["name"]: c["instructions"] for c in document["contestants"]}
    assert found["scikit-learn"] is None
    if shutil.which("valgrind") is None:
        assert found["edgemon"] is None
    else:
        assert found["edgemon"] > found["wrong"] > 3


def test_who_cannot_take_part_is_named_with_the_reason(document: dict[str, Any]) -> None:
    why = {c["name"]: c["why"] for c in document["absent"]}
    assert list(why) == ["missing", "broken", "refuses"]
    assert why["missing"] == "nowhere is not installed (pip install 'edgemon[peers]')."
    assert "error" in why["broken"]
    assert why["refuses"] == "it takes no such forest"


def test_every_peer_of_the_issue_is_there() -> None:
    names = " ".join(c.name for c in FORESTS)
    for peer in ("emlearn inline", "emlearn loadable", "m2cgen", "tl2cgen", "ONNX", "scikit"):
        assert peer in names


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--peers", "somewhere"], "takes no BUNDLE"),
        (["--peers", "--budget", "ram_bytes=9"], "takes no BUNDLE"),
        (["somewhere"], "--data is missing"),
        (["--data", "x.npz"], "BUNDLE is missing"),
    ],
)
def test_what_does_not_go_together_is_said(
    arguments: list[str], said: str, monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    (tmp_path / "somewhere").mkdir()  # what does not exist, or is no bundle, is said first
    (tmp_path / "somewhere" / "monitor.emon").touch()
    (tmp_path / "x.npz").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["edgemon", "bench", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert said in capsys.readouterr().err.replace("\n", " ")
