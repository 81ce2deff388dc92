"""The README's whole C program compiles as printed, and judges the demonstration's rows."""

from __future__ import annotations

import re
import subprocess
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
