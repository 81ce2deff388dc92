"""A mistyped argument is answered before anything heavy is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from edgemon.compiler.commands.early import BUILT_IN
from edgemon.compiler.monitors import AUTO, MONITORS
from tests.command_line import DATA, MODEL

COMPILE = ("compile", MODEL, "--data", DATA, "--out", "never")


def test_the_names_are_those_of_the_monitors() -> None:
    assert (AUTO, *MONITORS) == BUILT_IN


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*COMPILE, "--monitor", "softmx"), "did you mean 'softmax'?"),
        ((*COMPILE, "--nosuch"), "--nosuch"),
        (("compile", "none.onnx", "--data", DATA, "--out", "never"), "none.onnx: does not exist"),
        (("inspect", "none.onnx"), "none.onnx: does not exist"),
    ],
)
def test_a_mistake_is_answered_without_heavy_imports(arguments: tuple[str, ...], says: str) -> None:
    code = (
        "import sys; from edgemon.compiler.commands.root import app\n"
        "try: app(sys.argv[1:])\n"
        "except SystemExit as stop: print(stop.code, sorted(\n"
        "    {'sklearn', 'scipy', 'onnx', 'onnxruntime'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code, *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert says in found.stderr
    assert found.stdout == "2 []\n"
