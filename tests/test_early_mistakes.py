"""A mistyped argument is answered before anything heavy is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from edgemon.compiler.commands import early
from edgemon.compiler.monitors import AUTO, MONITORS, PROFILES, registry
from tests.command_line import DATA, MODEL

COMPILE = ("compile", MODEL, "--data", DATA, "--out", "never")


def test_names_and_settings_are_those_of_the_monitors() -> None:
    found = {name: " ".join(registry.settings(monitor)) for name, monitor in MONITORS.items()}
    assert found == early.SETTINGS, "state them in compiler/commands/early.py"
    assert early.AUTO == AUTO
    assert set(PROFILES) <= set(early.SETTINGS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((*COMPILE, "--monitor", "softmx"), "did you mean 'softmax'?"),
        ((*COMPILE, "--nosuch"), "--nosuch"),
        (("compile", "none.onnx", "--data", DATA, "--out", "never"), "none.onnx: does not exist"),
        ((*COMPILE, "--monitor", "box:gama=1"), "unknown setting 'gama=1'; did you mean 'gamma'?"),
        ((*COMPILE, "--monitor", "auto:budgetkb=1"), "did you mean 'budget_kb'?"),
        ((*COMPILE, "--profile", "scood"), "--profile scood: use errors or scod"),
        ((*COMPILE, "--thresholds", "own"), "--thresholds own: use guaranteed or method"),
        ((*COMPILE, "--target", "cortexm4f"), "did you mean 'cortex-m4f'?"),
        ((*COMPILE, "--preprocess", "scal=2"), "'scal=2' is not understood"),
        (("compile", MODEL, "--data", "none.npz", "--out", "never"), "none.npz: no such file"),
        (("compile", MODEL, "--out", "never"), "give either --data, or all of"),
        (("compile", MODEL, "--data", DATA, "--out", "docs"), "docs exists; choose another"),
        (("run", "never", "--data", DATA), "never: does not exist"),
        (("verify", "never"), "never: does not exist"),
        (("bench", "never", "--data", DATA), "never: does not exist"),
        (("trust", "never", "--data", DATA), "never: does not exist"),
        (("robustness", "never", "--data", DATA), "never: does not exist"),
        (("guarantee", "never", "--data", DATA), "never: does not exist"),
        (("accuracy", "fit", "never", "--data", DATA), "never: does not exist"),
        ((*COMPILE, "--label-order", "numric"), "--label-order numric: use numeric or string"),
        ((*COMPILE, "--per-class", "eech"), "--per-class eech: use each or every"),
        (("target", "check", "cortexm4f", "never"), "did you mean 'cortex-m4f'?"),
        (("compare", "none.toml"), "none.toml: cannot be read"),
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
