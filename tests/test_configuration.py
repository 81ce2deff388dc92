"""Options of a project in a file, and completion."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from edgemon.compiler.commands.configuration import default_map
from edgemon.compiler.commands.root import app
from tests.conftest import DEMO

ROOT = typer.main.get_command(app)
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
    assert f"options of {project / name}: --json-lines True" in said


def test_paths_are_from_the_folder_of_the_file(project: Path, digits_bundle: Path) -> None:
    (project / "rows.npz").symlink_to(DEMO / "novelty.npz")
    (project / "edgemon.toml").write_text(
        '[run]\ndata = "rows.npz[0:2]"\njson-lines = true\nreports = "sent.jsonl"\n'
    )
    code, shown, said = called("run", digits_bundle)
    assert code == 0, said
    assert [json.loads(line)["row"] for line in shown.splitlines()] == [0, 1]
    assert "--data ../rows.npz[0:2]" in said
    assert (project / "sent.jsonl").is_file()
    assert "rows.npz: no such file" in called("run", digits_bundle, "--data", "rows.npz")[2]


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ('data = "rows.npz"', ["../rows.npz"]),
        ('data = "rows.npz[0:5]"', ["../rows.npz[0:5]"]),
        ('data = "x.npy,y.npy"', ["../x.npy,../y.npy"]),
        ('data = "a, b[1].npz"', ["../a, b[1].npz"]),  # there is such a file
        ('data = "https://example.org/rows.npz"', ["https://example.org/rows.npz"]),
        ('data = "/data/rows.npz[0:5]"', ["/data/rows.npz[0:5]"]),
        ('data = "~/rows.npz"', ["/home/somebody/rows.npz"]),
        ('data = "../rows.npz"', ["../../rows.npz"]),
        ('fit = "f.csv"\ncalibrate = "c.csv"\ntest = "below/t.csv"',
         ["../f.csv", "../c.csv", "../below/t.csv"]),
        ('out = "bundle"\njunit = "out/j.xml"\nbaseline = "old"',
         ["../bundle", "../out/j.xml", "../old"]),
        ('input = ["mask=mask.npy", "a=b=c.npy"]', [["mask=../mask.npy", "a=b=../c.npy"]]),
        ('preprocess = "standardize=scaler.npz,layout=nchw"',
         ["standardize=../scaler.npz,layout=nchw"]),
        ('preprocess = "standardize=a=b.npz"', ["standardize=../a=b.npz"]),
        ('preprocess = "scale=1/255"', ["scale=1/255"]),
        ('classes = "names.txt"', ["../names.txt"]),
        ('classes = "cat,dog"', ["cat,dog"]),
        ('target = "board.toml"', ["../board.toml"]),
        ('target = "cortex-m4f"', ["cortex-m4f"]),
        ('taps = "box=gap"\nmonitor = "box:gamma=0.3"', ["box=gap", "box:gamma=0.3"]),
    ],
)  # fmt: skip
def test_what_a_path_in_the_file_means_elsewhere(
    text: str, given: list[Any], project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "a, b[1].npz").touch()
    monkeypatch.setenv("HOME", "/home/somebody")
    tables = {"compile": tomllib.loads(text)}
    for folder in (project, Path("..")):
        found = default_map(ROOT, folder / "edgemon.toml", tables)["compile"]
        assert list(found.values()) == given
    monkeypatch.chdir(project)  # beside the file everything is as it is written
    beside = default_map(ROOT, project / "edgemon.toml", tables)["compile"]
    assert list(beside.values()) == (given if "~" in text else [*tables["compile"].values()])


def test_a_link_and_two_dots_are_followed_as_they_stand(project: Path) -> None:
    """Rows of another folder were read in silence."""
    (project / "elsewhere" / "deep").mkdir(parents=True)
    (project / "link").symlink_to(project / "elsewhere" / "deep")
    tables = {"compile": {"data": "link/../rows.npz"}}
    (given,) = default_map(ROOT, project / "edgemon.toml", tables)["compile"].values()
    assert os.path.realpath(given) == str((project / "elsewhere" / "rows.npz").resolve())


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
        (
            "[run]\ndata = '~nosuchuser/x.csv'\n",
            "[run]: data = '~nosuchuser/x.csv': no home folder is known",
        ),
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
