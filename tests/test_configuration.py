"""Options of a project in a file, and completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from edgemon.compiler.commands.root import app
from tests.conftest import DEMO

ROWS = f"{DEMO / 'novelty.npz'}[0:2]"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file, and one below it, in which commands run."""
    (tmp_path / "below").mkdir()
    monkeypatch.chdir(tmp_path / "below")
    monkeypatch.delenv("EDGEMON_CONFIG", raising=False)
    return tmp_path


def called(*arguments: str | Path) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    return done.exit_code, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("edgemon.toml", "[run]\njson-lines = true\n"),
        ("edgemon.toml", "[run]\njson_lines = true\n"),
        ("pyproject.toml", "[tool.edgemon.run]\njson-lines = true\n"),
    ],
)
def test_an_option_is_taken_and_said(
    name: str, text: str, project: Path, digits_bundle: Path
) -> None:
    (project / name).write_text(text)
    code, shown, said = called("run", digits_bundle, "--data", ROWS)
    assert code == 0
    assert [json.loads(line)["row"] for line in shown.splitlines()] == [0, 1]
    assert f"options of {project / name}: --json-lines True" in said.replace(
        " (paths are from the working folder)", ""
    )
    assert "paths are from the working folder" in said


def test_the_command_line_wins(project: Path, digits_bundle: Path) -> None:
    (project / "edgemon.toml").write_text('[run]\ndata = "none.npz"\n')
    assert "none.npz: no such file" in called("run", digits_bundle)[2]
    code, _, said = called("run", digits_bundle, "--data", ROWS)
    assert code == 0
    assert "options of" not in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[rnu]\n", "unknown command 'rnu'; did you mean 'run'?"),
        (
            "[run]\njson-line = true\n",
            "[run]: unknown option 'json-line'; did you mean 'json-lines'",
        ),
        ("[run]\njson = true\n", "[run]: unknown option 'json'"),
        ("[compile]\nmonitor = ['box']\n", "[compile]: monitor must be one value"),
        ("[compile]\ninput = 'a=b'\n", "[compile]: input must be a list"),
        ("run = 3\n", "run must be a table, [run]"),
        ("[run\n", "is not TOML"),
        ("[compile]\nfalse-alarm = true\n", "[compile]: false-alarm = true: must be a number"),
        ("[compile]\nfalse-alarm = 'x'\n", "[compile]: false-alarm = 'x': "),
        ("[compile]\nseed = 0.5\n", "[compile]: seed = 0.5: must be a whole number"),
        ("[compile]\nout = 5\n", "[compile]: out = 5: must be a path"),
        ("[compile]\nout = 1979-05-27\n", "[compile]: out = 1979-05-27: must be a path"),
        ("[run]\njson-lines = 1\n", "[run]: json-lines = 1: must be true or false"),
        ("[compile]\nforce = true\n", "[compile]: force is for the command line alone"),
    ],
)
def test_what_means_nothing_is_refused(text: str, says: str, project: Path) -> None:
    (project / "edgemon.toml").write_text(text)
    code, _, said = called("run", "bundle", "--data", ROWS)
    assert code == 2
    assert says in said
    assert called("run", "--help")[0] == 0  # which may be what one needs now


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tool = 5\n", "tool must be a table"),
        ("[tool]\nedgemon = 5\n", "tool.edgemon must be a table"),
        ("[tool\n", "is not TOML"),
    ],
)
def test_a_malformed_pyproject_is_not_left_out_in_silence(
    text: str, says: str, project: Path
) -> None:
    (project / "pyproject.toml").write_text(text)
    code, _, said = called("run", "bundle", "--data", ROWS)
    assert (code, said.count("\n")) == (2, 1)
    assert f"{project / 'pyproject.toml'}: {says}" in said


def test_an_empty_file_ends_the_search(project: Path) -> None:
    (project / "edgemon.toml").write_text("[rnu]\n")
    (project / "below" / "edgemon.toml").write_text("")
    assert "rnu" not in called("run", "bundle", "--data", ROWS)[2]


def test_a_working_folder_that_is_gone_is_one_sentence(project: Path) -> None:
    (project / "below").rmdir()
    code, _, said = called("run", "bundle", "--data", ROWS)
    assert (code, said.count("\n")) == (2, 1)
    assert "the working folder cannot be read" in said


def test_another_file_or_none(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "edgemon.toml").write_text("[rnu]\n")
    monkeypatch.setenv("EDGEMON_CONFIG", "")
    assert "rnu" not in called("run", "bundle", "--data", ROWS)[2]
    monkeypatch.setenv("EDGEMON_CONFIG", "nowhere.toml")
    assert "nowhere.toml: cannot be read" in called("run", "bundle", "--data", ROWS)[2]


@pytest.mark.parametrize(
    ("typed", "offers"),
    [
        ("edgemon comp", ["compile", "compare"]),
        ("edgemon run --da", ["--data"]),
        ("edgemon compile --target cortex-m", ["cortex-m0plus", "cortex-m4f", "cortex-m7"]),
        ("edgemon compile --monitor msp_t,sel", ["msp_t,selfchecker"]),
        ("edgemon compile --monitor rmds:d", ["rmds:dims="]),
    ],
)
def test_a_shell_completes(typed: str, offers: list[str]) -> None:
    words = {"_EDGEMON_COMPLETE": "complete_bash", "COMP_WORDS": typed}
    words["COMP_CWORD"] = str(len(typed.split()) - 1)
    code = (
        "import sys; sys.argv[0] = 'edgemon'\n"
        "from edgemon.compiler.commands.main import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        env={**os.environ, **words},
    )  # fmt: skip
    assert done.stdout.split() == offers
