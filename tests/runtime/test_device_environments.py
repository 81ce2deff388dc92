"""A device has NumPy and one interpreter, and nothing else: the same verdicts there as here.

``make test`` makes the two environments and names their Pythons in EDGEMON_DEVICE_PYTHONS.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon.compiler.data.sources import Sources
from edgemon.compiler.options import Options
from edgemon.compiler.pipeline import compile_bundle
from edgemon.runtime import Session
from tests.conftest import DEMO

VARIABLE = "EDGEMON_DEVICE_PYTHONS"
ENVIRONMENTS = ("litert", "tflite-runtime")
ABSENT = ("sklearn", "scipy", "onnx", "onnxruntime", "tensorflow", "typer")
SCRIPT = """
import importlib.util, json, sys
import edgemon
import numpy as np
from edgemon.runtime import Session
from edgemon.runtime.tflite_classifier import TfliteClassifier
def refused(call):
    try:
        call()
    except (ImportError, edgemon.EdgemonError) as error:
        return str(error)
session = Session(sys.argv[1])
rows = np.concatenate([np.load(f)["x"] for f in sys.argv[2:]])
results = session.evaluate_batch(rows)
bad = rows[0].astype(np.float32)
bad[0, 0] = np.nan
print(json.dumps({
    "backend": TfliteClassifier.backend(),
    "numpy": np.__version__,
    "present": [m for m in json.loads(sys.stdin.read()) if importlib.util.find_spec(m)],
    "verdicts": [int(r.verdict) for r in results],
    "scores": [[m.score.hex() for m in r.monitors] for r in results],
    "one_by_one": [int(session.evaluate(x).verdict) for x in rows[:50]],
    "nan": session.evaluate(bad).verdict.name,
    "refused": [
        refused(lambda: edgemon.compile),
        refused(lambda: edgemon.load(sys.argv[1]).score([[0]], [0])),
    ],
    "loaded": edgemon.load(sys.argv[1]).evaluate(rows).verdict.tolist(),
}))
"""


@pytest.fixture(scope="module")
def portable_bundle(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("portable") / "digits"
    compile_bundle(
        DEMO / "digits_int8.tflite",
        Sources(data=str(DEMO / "digits.npz")),
        out,
        Options(target="host-x86_64-builtin"),
    )
    return out


def python_of(environment: str) -> str:
    pythons = [p for p in os.environ.get(VARIABLE, "").split(":") if p]
    found = [p for p in pythons if Path(p).parts[-3].removeprefix("device-") == environment]
    if not found:
        pytest.skip(f"{VARIABLE} names no {environment} environment; `make test` makes one")
    return found[0]


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_the_same_verdicts_on_a_lean_device(environment: str, portable_bundle: Path) -> None:
    files = [DEMO / "digits.npz", DEMO / "novelty.npz"]
    command = [python_of(environment), "-I", "-c", SCRIPT, str(portable_bundle), *map(str, files)]
    done = subprocess.run(
        command, input=json.dumps(ABSENT), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    there: dict[str, Any] = json.loads(done.stdout)
    assert there["present"] == []
    assert there["backend"].startswith("tflite-runtime" if environment != "litert" else "ai-edge")
    rows = np.concatenate([np.load(f)["x"] for f in files])
    here = Session(portable_bundle).evaluate_batch(rows)
    assert there["verdicts"] == [int(r.verdict) for r in here]
    assert there["scores"] == [[m.score.hex() for m in r.monitors] for r in here]
    assert there["one_by_one"] == there["verdicts"][:50]
    assert there["loaded"] == there["verdicts"]
    assert all("pip install 'edgemon[compile]'" in sentence for sentence in there["refused"])
    assert there["nan"] == "FAULT"
    assert {0, 2} <= set(there["verdicts"])


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_commands_say_what_is_missing_on_a_device(environment: str) -> None:
    command = Path(python_of(environment)).parent / "edgemon"
    done = subprocess.run([command, "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "pip install 'edgemon[compile]'" in done.stderr
    assert "Traceback" not in done.stderr
