"""``run``, ``bench`` and ``op-times`` need NumPy, an interpreter, typer and rich, and no more."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import DEMO

ABSENT = (
    "sklearn", "scipy", "onnx", "onnxruntime", "jinja2", "matplotlib", "cryptography",
    "junitparser", "PIL", "pandas", "tensorflow",
)  # fmt: skip
COMMAND = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {ABSENT!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Absent())
from edgemon.compiler.commands.main import main
main()
"""
ROWS = f"{DEMO / 'novelty.npz'}[0:6]"


def on_device(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", COMMAND, *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("arguments", "has"),
    [
        (("run", "BUNDLE", "--data", ROWS), "rows"),
        (("bench", "BUNDLE", "--data", ROWS, "--rounds", "20", "--max-seconds", "1"), "monitors"),
        (("op-times",), "nanoseconds"),
    ],
)
def test_a_command_of_devices_needs_no_more(
    arguments: tuple[str, ...], has: str, digits_bundle: Path
) -> None:
    given = [str(digits_bundle) if a == "BUNDLE" else a for a in arguments]
    done = on_device(*given, "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)[has]


def test_another_command_says_what_to_install(digits_bundle: Path) -> None:
    done = on_device("trust", digits_bundle, "--data", ROWS)
    assert done.returncode == 2
    assert "pip install 'edgemon[compile]'" in done.stderr
    assert "Traceback" not in done.stderr
