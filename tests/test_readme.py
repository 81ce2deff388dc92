"""The README's whole C program compiles as printed, and judges the demonstration's rows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.emit import flat
from edgemon.runtime import Session
from edgemon.runtime.preprocess import to_input
from tests.conftest import DEMO, ROOT
from tests.runtime.c_compilers import SOURCES, STRICT, C, need, run
from tests.runtime.examples.pipeline.conftest import tflite_library

STAND_INS = ROOT / "tests" / "stand_ins"
ROWS = 60


def printed_program() -> str:
    blocks = re.findall(r"^```c\n(.*?)^```$", (ROOT / "README.md").read_text(), re.M | re.S)
    (program,) = (block for block in blocks if "int main(" in block)
    return str(program)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_whole_program_compiles_and_judges(
    compiler: str, digits_bundle: Path, tmp_path: Path
) -> None:
    library, cc = tflite_library(), need(compiler)
    (tmp_path / "main.c").write_text(printed_program())
    (tmp_path / "monitor.h").write_text(
        flat.c_header((digits_bundle / "monitor.emon").read_bytes())
    )
    flags = ["-std=c11", "-O2", "-ffp-contract=off", *STRICT, f"-I{C / 'include'}"]
    program = tmp_path / "program"
    run(cc, *flags, f"-I{STAND_INS}", tmp_path / "main.c", *SOURCES, library, "-lm",
        f"-Wl,-rpath,{library.parent}", "-o", program)  # fmt: skip
    session = Session(digits_bundle, kernels="builtin")
    images = [*np.load(DEMO / "digits.npz")["x"][:ROWS], *np.load(DEMO / "novelty.npz")["x"][:ROWS]]
    tensors = [to_input(image, session.preprocess, session.input).tobytes() for image in images]
    command = [program, digits_bundle / "model.tapped.tflite"]
    done = subprocess.run(command, input=b"".join(tensors), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    expected = [session.evaluate(image) for image in images]
    assert done.stdout.decode().splitlines() == [
        f"class {answer.prediction}: {answer.verdict.name.lower()}" for answer in expected
    ]
    assert len({answer.verdict for answer in expected}) > 1


def test_the_tutorial_builds_and_feeds_it_as_printed(
    digits_bundle: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its own commands, in their order, in a folder with what it names before."""
    library, _ = tflite_library(), need("cc")
    page = (ROOT / "docs" / "tutorials" / "image.md").read_text(encoding="utf-8")
    for name in ("bench", "runtime"):
        (tmp_path / name).symlink_to(ROOT / name)
    shutil.copytree(digits_bundle, tmp_path / "digits")
    header = flat.c_header((digits_bundle / "monitor.emon").read_bytes())
    (tmp_path / "digits" / "monitor.h").write_text(header)
    (tmp_path / "main.c").write_text(printed_program())
    monkeypatch.setenv("CPATH", str(STAND_INS))
    monkeypatch.setenv("LIBRARY_PATH", str(library.parent))
    monkeypatch.setenv("LD_LIBRARY_PATH", str(library.parent))
    python = Path(sys.executable).parent
    monkeypatch.setenv("PATH", f"{python}{os.pathsep}{os.environ['PATH']}")
    steps = re.findall(r"^```(?:sh)?\n((?:python|cc|\./doubt) .*?)^```", page, re.M | re.S)
    amalgamate, build, judge = steps
    (feed,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    for command in (["sh", "-ec", amalgamate], ["sh", "-ec", build], ["python", "-c", feed]):
        run(*command, cwd=tmp_path)
    shown = run("sh", "-ec", judge, cwd=tmp_path)
    session = Session(tmp_path / "digits", kernels="builtin")
    expected = [session.evaluate(image) for image in np.load(DEMO / "novelty.npz")["x"][:10]]
    assert shown.splitlines() == [
        f"class {answer.prediction}: {answer.verdict.name.lower()}" for answer in expected
    ]


def test_the_one_file_is_made_by_the_installed_package_too(tmp_path: Path) -> None:
    (printed,) = re.findall(r"`(python -m edgemon.*?) DIR`", (ROOT / "docs/linking.md").read_text())
    run(sys.executable, *printed.split()[1:], tmp_path / "one")
    assert {p.name for p in (tmp_path / "one").iterdir()} >= {"edgemon.c", "edgemon.h"}


def test_it_says_what_is_missing(digits_bundle: Path, bundle: Path, tmp_path: Path) -> None:
    library = tflite_library()
    (tmp_path / "main.c").write_text(printed_program())
    (tmp_path / "monitor.h").write_text(
        flat.c_header((digits_bundle / "monitor.emon").read_bytes())
    )
    program = tmp_path / "program"
    run(need("gcc"), "-std=c11", f"-I{C / 'include'}", f"-I{STAND_INS}", tmp_path / "main.c",
        *SOURCES, library, "-lm", f"-Wl,-rpath,{library.parent}", "-o", program)  # fmt: skip
    for model, says in (
        (tmp_path / "nowhere.tflite", "not ready: the model"),
        (bundle / "model.tapped.tflite", "the model has no output "),
    ):
        done = subprocess.run([program, model], capture_output=True, check=False)
        assert done.returncode == 1
        assert says in done.stderr.decode()
