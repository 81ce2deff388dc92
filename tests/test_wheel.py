"""The wheel as it is published: what is in it, and a new environment with it and NumPy alone."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import venv
import zipfile
from email.parser import Parser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.runtime.c_compilers import need, run

VARIABLE = "EDGEMON_WHEELS"  # a folder; `make wheels` names its own
PROBE = ROOT / "tests" / "wheel_probe.py"
STORED = ROOT / "tests" / "runtime" / "versions"
IMPORT_S = 0.2
LARGEST = 2 << 20  # bytes: what a device has to download
NEEDED_GLIBC = (2, 17)


def wheels(machine: str) -> Path:
    folder = Path(os.environ.get(VARIABLE, ROOT / ".venv" / "wheel"))
    found = sorted(folder.glob(f"edgemon-*{machine}.whl"))
    if not found:
        pytest.skip(f"no wheel for {machine}; `make wheels` makes it")
    return found[-1]


@pytest.fixture(params=["x86_64", "aarch64"])
def wheel(request: pytest.FixtureRequest) -> Path:
    return wheels(str(request.param))


def test_it_says_what_it_is_and_has_its_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (about,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        (licence,) = (n for n in archive.namelist() if n.endswith("/licenses/LICENSE"))
        said = Parser().parsestr(archive.read(about).decode())
        assert archive.read(licence) == (ROOT / "LICENSE").read_bytes()
    assert said["License-Expression"] == "Apache-2.0"
    assert said["Author"] == "the edgemon developers"
    assert "tflite" in said["Keywords"].split(",")
    assert [r for r in said.get_all("Requires-Dist") if "extra" not in r] == ["numpy>=1.26"]
    assert wheel.name.startswith("edgemon-0.1.0-cp311-abi3-")
    assert wheel.stat().st_size < LARGEST


def test_its_extension_needs_an_old_glibc_alone(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        library = archive.extract("edgemon/runtime/_native.abi3.so", tmp_path)
    shown = run(need("readelf"), "-W", "-h", "-d", "--dyn-syms", library)
    machine = {"x86_64": "X86-64", "aarch64": "AArch64"}
    assert machine[re.findall(r"x86_64|aarch64", wheel.name)[0]] in shown
    assert set(re.findall(r"NEEDED.*\[(.*)\]", shown)) <= {"libc.so.6"}
    versions = {tuple(map(int, v.split("."))) for v in re.findall(r"@+GLIBC_([0-9.]+)", shown)}
    assert versions
    assert max(versions) <= NEEDED_GLIBC


def test_both_architectures_have_the_same_files() -> None:
    names = []
    for machine in ("x86_64", "aarch64"):
        with zipfile.ZipFile(wheels(machine)) as archive:
            names.append({n for n in archive.namelist() if ".dist-info/" not in n})
    assert names[0] == names[1]


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new environment with the wheel and NumPy; NumPy's files are those of here."""
    folder = tmp_path_factory.mktemp("clean") / "venv"
    wheel = wheels("x86_64")
    venv.create(folder, symlinks=True)
    python = folder / "bin" / "python"
    run(sys.executable, "-m", "pip", "-q", "--python", python, "install", "--no-deps", "--no-index",
        wheel)  # fmt: skip
    there = Path(
        run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))").strip()
    )
    here = Path(np.__file__).parents[1]
    for name in ("numpy", "numpy.libs"):
        if (here / name).exists():
            (there / name).symlink_to(here / name)
    return python


def probed(python: Path | str, *more: Path) -> dict[str, Any]:
    done = run(python, "-I", PROBE, STORED, *more)
    return dict(json.loads(done))


def test_a_clean_environment_gives_the_same_results(clean: Path, bundle: Path) -> None:
    found = [probed(clean, bundle) for _ in range(2)]
    here = probed(sys.executable)
    assert str(clean.parents[1]) in found[0]["where"]
    assert found[0]["artifacts"] >= 6
    assert found[0]["results"] == here["results"]
    assert "ai-edge-litert" in found[0]["load"][0]
    assert min(f["import_s"] for f in found) < IMPORT_S


def test_the_command_says_what_to_install(clean: Path) -> None:
    done = subprocess.run(
        [clean.parent / "edgemon", "compile"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert "pip install 'edgemon[compile]'" in done.stderr
