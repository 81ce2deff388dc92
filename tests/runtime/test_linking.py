"""Each way into a program, as a stranger takes it: an external project that builds and runs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.emit import flat
from edgemon.runtime import Monitor
from tests.conftest import ROOT
from tests.runtime.c_compilers import C_FLAGS, HERE, PRIVATE, RUNTIME, SOURCES, STRICT, C, need, run
from tests.runtime.versions import make

STORED = sorted(make.HERE.glob("*.emon"))[-1]  # every op and every section
HEADER = C / "include" / "edgemon" / "edgemon.h"
STRANGER = """\
#include <edgemon/edgemon.hpp>

#include <cstdio>
#include <vector>

int main(int argc, char **argv) {
    std::FILE *file = argc == 2 ? std::fopen(argv[1], "rb") : nullptr;
    if (file == nullptr) {
        return 2;
    }
    std::vector<std::uint64_t> bytes(1 << 16);
    const std::size_t size = std::fread(bytes.data(), 1, bytes.size() * 8, file);
    std::fclose(file);
    edgemon::Monitor monitor;
    const em_status opened = monitor.open(bytes.data(), size);
    std::vector<std::uint64_t> workspace(monitor.workspace_size() / 8 + 1);
    const em_status tested = monitor.self_test(workspace.data(), workspace.size() * 8);
    std::printf("%s, %s\\n", em_status_text(opened), em_status_text(tested));
    return opened == EM_OK && tested == EM_OK ? 0 : 1;
}
"""


@pytest.fixture(scope="module", params=["static", "shared"])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The prefix of an installed library."""
    cmake = need("cmake")
    need("gcc")
    folder = tmp_path_factory.mktemp(request.param)
    shared = "ON" if request.param == "shared" else "OFF"
    options = ["-DCMAKE_INSTALL_LIBDIR=lib", f"-DBUILD_SHARED_LIBS={shared}"]
    run(cmake, "-S", RUNTIME, "-B", folder / "build", *options)
    run(cmake, "--build", folder / "build")
    run(cmake, "--install", folder / "build", "--prefix", folder / "prefix")
    return folder / "prefix"


def project(folder: Path, finds: str, languages: str = "CXX") -> Path:
    folder.mkdir()
    (folder / "main.cpp").write_text(STRANGER)
    (folder / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.20)\nproject(stranger {languages})\n{finds}\n"
        "add_executable(stranger main.cpp)\ntarget_compile_features(stranger PRIVATE cxx_std_17)\n"
        "target_link_libraries(stranger edgemon::edgemon)\n"
    )
    return folder


def runs(program: Path, **environment: str) -> None:
    command = [program, STORED]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "ok, ok\n"), done.stderr


def test_find_package(installed: Path, tmp_path: Path) -> None:
    cmake = need("cmake")
    need("g++")
    stranger = project(tmp_path / "stranger", "find_package(edgemon 0.1 REQUIRED)")
    run(cmake, "-S", stranger, "-B", tmp_path / "build", f"-DCMAKE_PREFIX_PATH={installed}")
    run(cmake, "--build", tmp_path / "build")
    runs(tmp_path / "build" / "stranger")


def test_a_version_that_is_not_there_is_not_found(installed: Path, tmp_path: Path) -> None:
    stranger = project(tmp_path / "stranger", "find_package(edgemon 9.9 REQUIRED)")
    command = [
        need("cmake"),
        "-S",
        stranger,
        "-B",
        tmp_path / "b",
        f"-DCMAKE_PREFIX_PATH={installed}",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "compatible with requested version" in re.sub(r"\s+", " ", done.stderr)


def test_pkg_config(installed: Path, tmp_path: Path) -> None:
    """Also after the tree has moved, for its paths are its own."""
    tool, cxx = need("pkg-config"), need("g++")
    moved = tmp_path / "elsewhere"
    installed.rename(moved)
    try:
        told = subprocess.run(
            [tool, "--cflags", "--libs", "edgemon"], capture_output=True, text=True, check=True,
            env={**os.environ, "PKG_CONFIG_PATH": str(moved / "lib" / "pkgconfig")},
        )  # fmt: skip
        (tmp_path / "main.cpp").write_text(STRANGER)
        flags = told.stdout.split()
        run(cxx, "-std=c++17", tmp_path / "main.cpp", *flags, "-o", tmp_path / "stranger")
        runs(tmp_path / "stranger", LD_LIBRARY_PATH=str(moved / "lib"))
    finally:
        moved.rename(installed)


def test_add_subdirectory(tmp_path: Path) -> None:
    cmake = need("cmake")
    need("g++")
    finds = f"add_subdirectory({RUNTIME} edgemon)"
    stranger = project(tmp_path / "stranger", finds, "C CXX")
    run(cmake, "-S", stranger, "-B", tmp_path / "build")
    run(cmake, "--build", tmp_path / "build", "--target", "stranger")
    runs(tmp_path / "build" / "stranger")


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_amalgamation_in_a_cpp_program(compiler: str, tmp_path: Path) -> None:
    cxx, cc = need(compiler), need("gcc")
    run(sys.executable, C / "amalgamate.py", tmp_path)
    run(
        cc,
        "-std=c11",
        "-O2",
        "-ffp-contract=off",
        "-c",
        tmp_path / "edgemon.c",
        "-o",
        tmp_path / "e.o",
    )
    (tmp_path / "main.cpp").write_text(STRANGER.replace("<edgemon/edgemon.hpp>", '"edgemon.hpp"'))
    strict = ["-fno-exceptions", "-fno-rtti", *STRICT]
    for standard in ("c++17", "c++20"):
        flags = [f"-std={standard}", *strict, tmp_path / "main.cpp", tmp_path / "e.o"]
        run(cxx, *flags, "-o", tmp_path / "stranger")
        runs(tmp_path / "stranger")


def functions() -> set[str]:
    """Those of edgemon.h."""
    return set(re.findall(r"^EM_API [^;(]*?(\w+)\(", HEADER.read_text(), re.MULTILINE))


def test_the_shared_library_shows_the_functions_of_the_header_alone(installed: Path) -> None:
    libraries = list((installed / "lib").glob("libedgemon.so.*.*"))
    if not libraries:  # the static one: its objects are looked at below
        assert (installed / "lib" / "libedgemon.a").exists()
        return
    lines = run(need("nm"), "-D", "--defined-only", libraries[0]).splitlines()
    assert {line.split()[-1] for line in lines} == functions()
    version = re.search(r"EM_API_VERSION (\d+)", HEADER.read_text())
    assert version is not None
    assert (installed / "lib" / f"libedgemon.so.{version[1]}").exists()


@pytest.mark.parametrize("optimisation", ["-O0", "-O2"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_only_em_symbols(compiler: str, optimisation: str, tmp_path: Path) -> None:
    cc, nm = need(compiler), need("nm")
    defined: set[str] = set()
    for source in SOURCES:
        run(cc, *C_FLAGS, optimisation, "-c", source, "-o", tmp_path / "object.o")
        lines = run(nm, "--defined-only", "--extern-only", tmp_path / "object.o").splitlines()
        defined |= {line.split()[-1] for line in lines}
    assert functions() <= defined
    assert not [name for name in defined if not name.startswith("em_")]


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_the_amalgamation_has_the_functions_of_the_header_alone(
    compiler: str, tmp_path: Path
) -> None:
    run(sys.executable, C / "amalgamate.py", tmp_path)
    object_ = tmp_path / "edgemon.o"
    run(need(compiler), *C_FLAGS, "-O2", "-c", tmp_path / "edgemon.c", "-o", object_)
    lines = run(need("nm"), "--defined-only", "--extern-only", object_).splitlines()
    assert {line.split()[-1] for line in lines} == functions()


VENDORED = {
    "nothing": (),
    "native, fused": ("-O3", "-march=native", "-ffp-contract=fast"),
    "fast math": ("-O3", "-ffast-math"),
    "x87": ("-O2", "-mfpmath=387"),
}
OURS = ("-std=c11", "-O2", "-ffp-contract=off")


def vendored(compiler: str, flags: tuple[str, ...], rows: Path) -> tuple[int, bytes] | str:
    """Exit code and every result of every node on the rows; or why the compiler refuses."""
    program = rows.with_name("rows_of")
    sources = [HERE / "evaluate_rows.c", *SOURCES]
    command = [compiler, *flags, f"-I{C / 'include'}", PRIVATE, *sources, "-lm", "-o", program]
    built = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if built.returncode != 0:
        return built.stderr
    done = subprocess.run([program, STORED, rows], capture_output=True, check=False)
    return done.returncode, done.stdout


@pytest.fixture(scope="module")
def right(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, tuple[int, bytes] | str]:
    """Rows of the stored artifact, and what a build with our flags makes of them."""
    path = tmp_path_factory.mktemp("right") / "rows"
    with np.load(STORED.with_suffix(".npz")) as stored:
        taps = [stored[name] for name in ("tap0", "tap1", "tap2")]
    path.write_bytes(b"".join(tap[i].tobytes() for i in range(len(taps[0])) for tap in taps))
    found = vendored(need("gcc"), OURS, path)
    assert found[0] == 0
    assert len(found[1]) > 0
    return path, found


@pytest.mark.parametrize("flags", VENDORED)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_vendored_source_list_without_our_flags_is_refused_or_right(
    compiler: str, flags: str, right: tuple[Path, tuple[int, bytes] | str]
) -> None:
    """Refused by the compiler, refused by em_open, or every result of every node is right."""
    rows, expected = right
    found = vendored(need(compiler), VENDORED[flags], rows)
    if isinstance(found, str):
        assert "edgemon needs" in found or "-ffast-math" in found or "not supported" in found
    else:
        assert found in (expected, (1, b""))  # 1: em_open refuses


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_printed_cpp_program_runs(compiler: str, tmp_path: Path) -> None:
    """docs/linking.md, with the runtime in one file."""
    page = (ROOT / "docs" / "linking.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"^```cpp\n(.*?)^```$", page, re.M | re.S)
    (tmp_path / "main.cpp").write_text(program)
    (tmp_path / "monitor.h").write_text(flat.c_header(STORED.read_bytes()))
    run(sys.executable, C / "amalgamate.py", tmp_path / "edgemon", "--for", STORED)
    run(need("gcc"), "-std=c11", "-O1", "-ffp-contract=off", "-c", tmp_path / "edgemon/edgemon.c",
        "-o", tmp_path / "edgemon.o")  # fmt: skip
    run(need(compiler), "-std=c++17", *STRICT, f"-I{tmp_path}", tmp_path / "main.cpp",
        tmp_path / "edgemon.o", "-lm", "-o", tmp_path / "program")  # fmt: skip
    first, *taps = run(tmp_path / "program").splitlines()
    assert re.fullmatch(r"edgemon [0-9.]+: ok, self-test ok", first)
    assert len(taps) == len(Monitor(STORED.read_bytes()).taps)
