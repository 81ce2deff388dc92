"""The amalgamation as a library of Arduino, a component of ESP-IDF and a module of Zephyr.

Their own build systems are not here: what they call in CMake stands in as a few lines, and the
sketch is compiled against a stand-in of Arduino.h.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from edgemon.compiler.emit import flat
from tests.conftest import ROOT
from tests.runtime.c_compilers import RUNTIME, STRICT, C, need, run
from tests.runtime.versions import make

STORED = sorted(make.HERE.glob("*.emon"))[-1]
STAND_INS = ROOT / "tests" / "stand_ins"
FUSED = ["-O3", "-mfma", "-ffp-contract=fast"]
FUNCTIONS = {
    "esp-idf": """
function(idf_component_register)
  cmake_parse_arguments(C "" "" "SRCS;INCLUDE_DIRS" ${ARGN})
  add_library(component STATIC ${C_SRCS})
  target_include_directories(component PUBLIC ${C_INCLUDE_DIRS})
  set(COMPONENT_LIB component PARENT_SCOPE)
endfunction()
""",
    "zephyr": """
set(CONFIG_EDGEMON y)
function(zephyr_library_named name)
  add_library(component STATIC)
endfunction()
function(zephyr_library_sources)
  target_sources(component PRIVATE ${ARGN})
endfunction()
function(zephyr_library_compile_options)
  target_compile_options(component PRIVATE ${ARGN})
endfunction()
function(zephyr_include_directories)
  target_include_directories(component PUBLIC ${ARGN})
endfunction()
""",
}


def laid_out(folder: Path, layout: str, *options: str) -> Path:
    run(sys.executable, C / "amalgamate.py", folder / layout, "--layout", layout, *options)
    return folder / layout


@pytest.mark.parametrize("system", FUNCTIONS)
def test_a_component_builds_exactly_also_where_the_project_fuses(
    system: str, tmp_path: Path
) -> None:
    cmake = need("cmake")
    component = laid_out(tmp_path, system)
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(stranger C)\n"
        f"{FUNCTIONS[system]}\nadd_subdirectory({component.name})\n"
        f"add_executable(stranger {C / 'examples' / 'evaluate.c'})\n"
        f"target_include_directories(stranger PRIVATE {C / 'include'})\n"
        "target_link_libraries(stranger component)\n"
    )
    flags = f"-DCMAKE_C_FLAGS={' '.join(FUSED)}"
    run(cmake, "-S", tmp_path, "-B", tmp_path / "build", flags)
    run(cmake, "--build", tmp_path / "build")
    assert run(tmp_path / "build" / "stranger", STORED).endswith(": ok\n")


def test_an_arduino_library_builds_exactly_without_flags(tmp_path: Path) -> None:
    """Where no flag can be given the source itself forbids to fuse; the plain one is refused."""
    gcc, example = need("gcc"), C / "examples" / "evaluate.c"
    library = laid_out(tmp_path, "arduino")
    run(sys.executable, C / "amalgamate.py", tmp_path / "plain")
    said = []
    for folder in (library / "src", tmp_path / "plain"):
        program = tmp_path / "stranger"
        run(gcc, *FUSED, f"-I{C / 'include'}", example, folder / "edgemon.c", "-o", program)
        done = subprocess.run([program, STORED], capture_output=True, text=True, check=False)
        said.append(done.stdout.splitlines()[-1].removeprefix(f"{STORED}: "))
    assert said[0] == "ok"
    assert said[1].startswith("this build or processor rounds floats otherwise")


@pytest.mark.parametrize("standard", ["c++11", "c++17"])
def test_the_sketch_compiles(standard: str, tmp_path: Path) -> None:
    """Syntax alone: Arduino's own header is a stand-in."""
    library = laid_out(tmp_path, "arduino", "--for", str(STORED))
    sketch = library / "examples" / "Guarded" / "Guarded.ino"
    (tmp_path / "monitor.h").write_text(flat.c_header(STORED.read_bytes()))
    run(need("g++"), f"-std={standard}", "-fsyntax-only", "-x", "c++", *STRICT, f"-I{tmp_path}",
        f"-I{library / 'src'}", f"-I{STAND_INS}", "-include", "Arduino.h", sketch)  # fmt: skip


def test_the_version_is_that_of_the_runtime(tmp_path: Path) -> None:
    found = re.search(r"edgemon VERSION (\S+)", (RUNTIME / "CMakeLists.txt").read_text())
    assert found is not None
    header = (C / "include" / "edgemon" / "edgemon.h").read_text()
    assert f'#define EM_VERSION "{found[1]}"' in header
    assert f'\nversion = "{found[1]}"\n' in (ROOT / "pyproject.toml").read_text()
    for layout, name in (("arduino", "library.properties"), ("esp-idf", "idf_component.yml")):
        text = (laid_out(tmp_path, layout) / name).read_text()
        assert re.search(rf'version[=:] ?"?{re.escape(found[1])}"?\n', text)
        assert "@" not in text


def test_an_unknown_layout_is_a_sentence(tmp_path: Path) -> None:
    command = [sys.executable, C / "amalgamate.py", tmp_path, "--layout", "mbed"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "invalid choice: 'mbed'" in done.stderr
