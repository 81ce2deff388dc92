"""Models of many classes compile in bounded memory."""

from __future__ import annotations

from tests.command_line import document, refused


def test_a_thousand_classes_take_no_more_memory_than_stated() -> None:
    """They took 19.8 GB."""
    found = document("class-sweep", "--classes", "1001")
    (line,) = found["lines"]
    assert line["peak_bytes"] < 1.5e9
    assert {"second_opinion", "mahalanobis_gap", "fdbd", "prototype_odds"} <= set(line["left_out"])


def test_classes_that_are_no_numbers_are_refused() -> None:
    assert "give numbers from 2" in refused("class-sweep", "--classes", "2,many")
