"""A mistyped argument is answered before anything heavy is imported."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from edgemon.compiler.commands import early
from edgemon.compiler.monitors import AUTO, MONITORS, PROFILES, registry
from tests.command_line import DATA, MODEL

LONGEST_S = 0.5
COMPILE = ("compile", MODEL, "--data", DATA, "--out", "never")


def test_names_and_settings_are_those_of_the_monitors() -> None:
    found = {name: " ".join(registry.settings(monitor)) for name, monitor in MONITORS.items()}
    assert found == early.SETTINGS, "state them in compiler/commands/early.py"
    assert early.AUTO == AUTO
    assert set(PROFILES) <= set(early.SETTINGS)


MISTAKES: list[tuple[tuple[str | Path, ...], str]] = [
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
]
CODE = """
import contextlib, io, json, sys
from edgemon.compiler.commands.root import app
for arguments in json.load(sys.stdin):
    said, code = io.StringIO(), None
    with contextlib.redirect_stderr(said):
        try:
            app(arguments)
        except SystemExit as stop:
            code = stop.code
    heavy = sorted({"sklearn", "scipy", "onnx", "onnxruntime"} & set(sys.modules))
    print(json.dumps([code, said.getvalue(), heavy]))
"""


def test_mistakes_are_answered_without_heavy_imports() -> None:
    """All in one process, whose modules stay: what one imports, the next ones show too."""
    given = json.dumps([[str(a) for a in arguments] for arguments, _ in MISTAKES])
    done = subprocess.run(
        [sys.executable, "-c", CODE], input=given, capture_output=True, text=True, check=False
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(answers) == len(MISTAKES), done.stderr
    for (arguments, says), (code, said, heavy) in zip(MISTAKES, answers, strict=True):
        assert says in said, arguments
        assert (code, heavy) == (2, []), arguments


def test_an_answer_takes_less_than_half_a_second() -> None:
    """Of CPU, with the interpreter's start."""
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run(sys.argv[1:], stderr=subprocess.DEVNULL)\n"
        "print(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]))"
    )
    command = [sys.executable, "-m", "edgemon", *COMPILE, "--monitor", "softmx"]
    took = [
        float(subprocess.run([sys.executable, "-c", code, *command], capture_output=True,
                             text=True, check=True).stdout)
        for _ in range(3)
    ]  # fmt: skip
    assert min(took) < LONGEST_S
