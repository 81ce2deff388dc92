"""docs/tutorials/pipeline.md: its script is run as it is printed, by a shell."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from junitparser import JUnitXml

import edgemon
from tests.conftest import ROOT
from tests.tiny_tflite import write_tiny

PAGE = (ROOT / "docs" / "tutorials" / "pipeline.md").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, tiny_data: Path) -> Path:
    """Where the script is ``monitor.sh``, and ``edgemon`` is this one."""
    (script,) = re.findall(r"^```sh\n(.*?)^```", PAGE, re.M | re.S)
    (tmp_path / "monitor.sh").write_text(script)
    (tmp_path / "model.tflite").write_bytes(write_tiny(tmp_path / "t.tflite").read_bytes())
    (tmp_path / "calibration.npz").write_bytes(tiny_data.read_bytes())
    (tmp_path / "test.npz").write_bytes(tiny_data.read_bytes())
    (tmp_path / "edgemon.toml").write_text(  # what takes long is none of the script's
        "[compile]\ndrift-run-length = 0\nworkers = 1\n"
    )
    command = tmp_path / "bin" / "edgemon"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m edgemon "$@"\n')
    command.chmod(0o755)
    return tmp_path


def run(folder: Path, **more: str) -> int:
    (line,) = re.findall(r"env: {(.*RELEASED.*)}", PAGE)
    stated = dict(part.split(": ") for part in line.split(", "))
    released = {} if (folder / stated["RELEASED"]).exists() else {"RELEASED": ""}
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, **stated, **released, **more, "PATH": path}
    (printed,) = re.findall(r"- run: (sh .*)", PAGE)
    return subprocess.run(
        printed.split(), cwd=folder, env=environment, check=False, capture_output=True
    ).returncode  # fmt: skip


def test_the_printed_python_passes_and_fails_as_it_says(folder: Path, bundle: Path) -> None:
    (program,) = re.findall(r"^```python\n(.*?)^```", PAGE, re.M | re.S)
    (folder / "released").symlink_to(bundle)
    for change, code in ((("", ""), 0), (("kb<=32", "kb<=0.001"), 1)):
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", program.replace(*change)], cwd=folder,
            check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == code, done.stderr
        if not code:
            lines = [line.split(maxsplit=3) for line in done.stdout.splitlines()]
            assert [name for name, *_ in lines] == ["false_alarms", "accuracy"]
            assert edgemon.load(folder / "monitor").manifest["rows"]["test"]
            shutil.rmtree(folder / "monitor")
    assert done.stderr.startswith("not released: requirement missed: kb is ")
    assert done.stderr.count("\n") == 1
    assert not (folder / "monitor").exists()


def test_the_printed_pipeline_passes_and_fails_as_it_says(folder: Path, bundle: Path) -> None:
    (folder / "released").symlink_to(bundle)
    assert run(folder) == 0
    for name in ("compile", "verify"):
        (suite,) = JUnitXml.fromfile(str(folder / f"{name}.xml"))
        assert (suite.tests, suite.failures) == (6, 0)
        found = json.loads((folder / f"{name}.json").read_text())
        assert [line["met"] for line in found["requirements"]] == [True] * 5
    assert run(folder, DEMANDED="cought>=0.2") == 2
    failed = json.loads((folder / "compile.json").read_text())
    assert failed["passed"] is False
    assert "did you mean 'caught'" in failed["error"]
