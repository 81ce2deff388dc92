"""The pipeline, built against an installed library as a stranger would build it."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import subprocess
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
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

    @property
    def environment(self) -> dict[str, str]:
        """That names the libraries."""
        names = {"EDGEMON_TFLITE_LIB": self.tflite, "EDGEMON_ONNXRUNTIME_LIB": self.onnxruntime}
        found = {name: str(path) for name, path in names.items() if path is not None}
        return {**os.environ, **found}

    def run(self, bundle: Path, frames: Path, *options: str) -> Ran:
        """As fast as it goes, unless the options say a rate."""
        command = [self.path, bundle, frames, *([] if "--fps" in options else ["--fps", "0"])]
        done = subprocess.run(
            [*map(str, command), *options], capture_output=True, check=False,
            env=self.environment, timeout=300,
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


SURE = np.array([4, 0, 0, 0], np.float32)
UNSURE = np.array([1, 1, 0, 1], np.float32)
NAN = np.array([1, np.nan, 0, 0], np.float32)


def _frames_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("frames", PIPELINE / "frames.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


frames_module = _frames_module()


def filmed(folder: Path, images: Any) -> Path:
    """A folder of frames; None leaves its number out."""
    folder.mkdir()
    for number, image in enumerate(images):
        if image is not None:
            frames_module.write_frame(folder, number, image)
    return folder


def restate(bundle: Path, name: str) -> None:
    """The manifest says that a file is as it is now."""
    path = bundle / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["sha256"][name] = hashlib.sha256((bundle / name).read_bytes()).hexdigest()
    path.write_text(json.dumps(manifest))


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
