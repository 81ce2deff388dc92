"""What ``compile`` prints at its end: a few lines, or everything."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from edgemon.compiler.commands.verdict import caught, show_operating_points, show_verdict
from edgemon.compiler.terminal import Terminal

QUALITY: Any = {"rows": 300, "true_alarms": 60, "missed": 40, "false_alarms": 20, "quiet": 180}
WORTH = {"mark": "better", "best_member": None, "member_beyond": None}
POINT = {
    "promised": 0.05, "rows_needed": 59, "rows": 40, "threshold": None, "caught": None,
    "caught_interval": None, "false_alarms": None, "false_alarms_interval": None, "precision": None,
}  # fmt: skip


class Listening(Terminal):
    def __init__(self) -> None:
        self.heard: list[str] = []
        self.cells: list[Any] = []

    def note(self, text: str) -> None:
        self.heard.append(text)

    def table(self, columns: Any, rows: Any, title: str = "") -> None:  # noqa: ARG002
        self.cells += rows


def test_the_verdict_is_of_a_few_lines_and_names_what_is_left_out() -> None:
    """All tables stood before the one line that a reader wants."""
    manifest: Any = {
        "together": QUALITY, "monitors": [{"name": "m", "worth": WORTH}],
        "bytes": {"monitors": 2048}, "estimated_us": None, "proof": {"rows": 1000},
        "left_out": [{"monitor": "forest"}], "advice": ["First.", "Second.", "Third."],
        "report": "report.html",
    }  # fmt: skip
    terminal = Listening()
    show_verdict(terminal, Path("b"), manifest)
    assert terminal.heard == [
        "caught 60.0 % (49.7 to 69.7) of 100 wrong answers, false alarms on 10.0 % (6.2 to 15.0) "
        "of 200 right ones; of the alarms 75.0 % (64.1 to 84.0) are on wrong answers",
        "m: better than the plain softmax",
        "takes 2.0 kB; reference, C and ONNX agree on all 1,000 held-out rows; left out: forest "
        "(why: -v)",
        "First. Second.",
        "wrote b; report: b/report.html; every table: -v",
    ]


def test_without_errors_nothing_is_said_to_be_caught() -> None:
    none: Any = {**QUALITY, "true_alarms": 0, "missed": 0}
    assert caught(none).startswith("no wrong answer among 300 test rows")


def test_a_promise_with_too_few_rows_has_no_numbers() -> None:
    terminal = Listening()
    manifest: Any = {"operating_points": {"m": [POINT], "n": []}}
    show_operating_points(terminal, manifest)
    assert terminal.cells == [("5 %", 59, "too few rows", "", "", "", "")]
