"""The commands as tests type them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from typer.testing import CliRunner, Result

from edgemon.compiler.commands.root import app
from tests.conftest import DEMO

MODEL, DATA = str(DEMO / "digits_int8.tflite"), str(DEMO / "digits.npz")


def edgemon(*arguments: str | Path) -> Result:
    """In a terminal so wide that no heading wraps; test workers have one of 80 columns."""
    return CliRunner(env={"COLUMNS": "250"}).invoke(app, [str(a) for a in arguments])


def bench_of(bundle: Path, rows: int = 20, rounds: int = 20) -> tuple[str | Path, ...]:
    """The command on the first rows, for as long as the rounds take."""
    data = ("--data", f"{DATA}[0:{rows}]")
    return ("bench", bundle, *data, "--rounds", f"{rounds}", "--max-seconds", "0")


def document(*arguments: str | Path) -> Any:
    result = edgemon(*arguments, "--json")
    assert result.exit_code == 0, result.stderr
    return json.loads(result.stdout)


def refused(*arguments: str | Path, code: int = 2) -> str:
    """The one sentence of an error."""
    result = edgemon(*arguments)
    assert result.exit_code == code, (result.exit_code, result.stderr, result.exception)
    assert "Traceback" not in result.output + result.stderr
    lines = [v for v in result.stderr.splitlines() if v and not v.startswith(("INFO", "warning:"))]
    assert len(lines) == 1, lines
    assert lines[0].startswith("edgemon: ")
    return lines[0]


def copy(bundle: Path, to: Path) -> Path:
    shutil.copytree(bundle, to)
    return to
