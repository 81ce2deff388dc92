"""The pipeline, built against an installed library as a stranger would build it."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.c_compilers import RUNTIME, need, run

PIPELINE = RUNTIME / "examples" / "pipeline"
NLOHMANN = ("/usr/include", "/usr/local/include")


@dataclass(frozen=True)
class Ran:
    """What the program said: exit code, JSON lines, and sentences."""

    code: int
    lines: list[dict[str, Any]]
    sentences: str

    @property
    def frames(self) -> list[dict[str, Any]]:
        return [line for line in self.lines if line["event"] == "frame"]

    @property
    def summary(self) -> dict[str, Any]:
        (found,) = (line for line in self.lines if line["event"] == "summary")
        return found


@dataclass(frozen=True)
class Program:
    """The built program, and the libraries of interpreters that it may load."""

    path: Path
    tflite: Path | None
    onnxruntime: Path | None

    def run(self, bundle: Path, frames: Path, *options: str) -> Ran:
        """As fast as it goes, unless the options say a rate."""
        names = {"EDGEMON_TFLITE_LIB": self.tflite, "EDGEMON_ONNXRUNTIME_LIB": self.onnxruntime}
        found = {name: str(path) for name, path in names.items() if path is not None}
        command = [self.path, bundle, frames, *([] if "--fps" in options else ["--fps", "0"])]
        done = subprocess.run(
            [*map(str, command), *options], capture_output=True, check=False,
            env={**os.environ, **found}, timeout=300,
        )  # fmt: skip
        lines = [json.loads(line) for line in done.stdout.splitlines()]
        return Ran(done.returncode, lines, done.stderr.decode())


def require_nlohmann() -> None:
    if not any((Path(folder) / "nlohmann" / "json.hpp").is_file() for folder in NLOHMANN):
        pytest.skip("nlohmann-json3-dev is not installed")


def library(package: str, pattern: str) -> Path | None:
    """A shared library inside an installed package."""
    spec = find_spec(package)
    folders = spec.submodule_search_locations if spec is not None else None
    found = [path for folder in folders or () for path in Path(folder).rglob(pattern)]
    return found[0] if found else None


def _tflite_library() -> Path | None:
    named = os.environ.get("EDGEMON_TFLITE_LIB")
    return Path(named) if named else library("pymicro_wakeword", "libtensorflowlite_c.so")


def tflite_library() -> Path:
    """A TFLite C library, or a skip."""
    found = _tflite_library()
    if found is None:
        pytest.skip("no TFLite C library: install pymicro-wakeword, or name one in "
                    "EDGEMON_TFLITE_LIB")  # fmt: skip
    return found


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    cmake = need("cmake")
    need("g++")
    require_nlohmann()
    folder = tmp_path_factory.mktemp("pipeline")
    library_build, prefix, build = (folder / name for name in ("library", "prefix", "build"))
    run(cmake, "-S", RUNTIME, "-B", library_build, "-DCMAKE_INSTALL_LIBDIR=lib")
    run(cmake, "--build", library_build)
    run(cmake, "--install", library_build, "--prefix", prefix)
    strict = "-O1 -Wall -Wextra -Wconversion -Wshadow -Wpedantic -Werror"
    options = [f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_FLAGS={strict}"]
    run(cmake, "-S", PIPELINE, "-B", build, "-DCMAKE_BUILD_TYPE=None", *options)
    run(cmake, "--build", build)
    onnxruntime = library("onnxruntime", "libonnxruntime.so.*")
    return Program(build / "pipeline", _tflite_library(), onnxruntime)


@pytest.fixture(scope="session")
def tflite_program(program: Program) -> Program:
    """The program, where a library runs TFLite models."""
    tflite_library()
    return program
