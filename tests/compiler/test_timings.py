"""``compile --timings``: where the time went."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from edgemon.compiler import timings
from edgemon.compiler.documents.manifest import Timed
from tests.command_line import document, edgemon
from tests.compiler.bundle.test_documents import check
from tests.tiny_tflite import write_tiny


def test_pieces_are_nested_and_nothing_is_lost() -> None:
    with timings.recorded() as found:
        with timings.timed("a"):
            with timings.timed("b"):
                time.sleep(0.02)
            time.sleep(0.01)
        time.sleep(0.03)
    with timings.timed("c"):
        pass
    assert [(p["stage"], p["level"]) for p in found.pieces] == [
        ("a", 0), ("b", 1), (timings.REST, 0),
    ]  # fmt: skip
    a, b, rest = (p["seconds"] for p in found.pieces)
    assert 0.02 <= b < a - 0.009
    assert rest >= 0.029


def test_a_piece_that_raises_is_measured_and_leaves_its_level() -> None:
    def fails() -> None:
        with timings.timed("a"):
            time.sleep(0.01)
            raise KeyError

    with timings.recorded() as found:
        with pytest.raises(KeyError):
            fails()
        with timings.timed("b"):
            pass
    assert [(p["stage"], p["level"]) for p in found.pieces[:2]] == [("a", 0), ("b", 0)]
    assert found.pieces[0]["seconds"] >= 0.009


def test_work_of_the_cpu_is_counted_and_sleep_is_not() -> None:
    with timings.recorded() as found:
        with timings.timed("sleeps"):
            time.sleep(0.1)
        with timings.timed("works"):
            end = time.process_time() + 0.1
            while time.process_time() < end:
                pass
    sleeps, works, _ = found.pieces
    assert sleeps["cpu_seconds"] < 0.05 <= works["cpu_seconds"]
    assert 1e6 < sleeps["peak_memory_bytes"] <= works["peak_memory_bytes"]


def test_compile_says_where_its_time_went(tiny_data: Path, tmp_path: Path) -> None:
    model = write_tiny(tmp_path / "model.tflite")
    given = [
        "compile",
        model,
        "--data",
        tiny_data,
        "--monitor",
        "softmax,box",
        "--taps",
        "box=logits",
    ]
    found = document(*given, "--out", tmp_path / "a", "--timings", "--json")
    check(found, Timed)
    pieces = {p["stage"]: p for p in found["timings"]}
    assert pieces["softmax"]["level"] == pieces["box"]["level"] == 1
    assert {"fitting", "proving", "writing the report", timings.REST} <= pieces.keys()
    shown = edgemon(*given, "--out", tmp_path / "b", "--timings").stdout
    assert "where the time went" in shown
