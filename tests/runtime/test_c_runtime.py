"""The C runtime: its test program under sanitizers, strict builds, packaging, and the fuzzer.

The tests themselves are C (folder ``c``); this file compiles and runs them with the compilers
that are present.
"""

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
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.patterns import packed
from tests.runtime import c_coverage
from tests.runtime.c_compilers import (
    C_FLAGS,
    GENERATOR,
    HERE,
    PRIVATE,
    RUNTIME,
    SANITIZERS,
    SOURCES,
    STRICT,
    TESTS,
    C,
    need,
    run,
    sanitized,
)

CORPUS = sorted((HERE / "corpus").glob("*.emon"))
SECONDS = int(os.environ.get("EDGEMON_FUZZ_SECONDS", "40"))


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact of the C tests that uses every op, as a file."""
    folder = tmp_path_factory.mktemp("sample")
    run(need("gcc"), *C_FLAGS, PRIVATE, *TESTS, *SOURCES, "-lm", "-o", folder / "tests")
    run(folder / "tests", folder / "sample.emon")
    return folder / "sample.emon"


@pytest.mark.parametrize("form", [("-O1",), ("-O3",), ("-O1", "-DEDGEMON_SMALL=1")], ids="".join)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_runtime_under_sanitizers(compiler: str, form: tuple[str, ...], tmp_path: Path) -> None:
    cc = need(compiler)
    if not sanitized(cc, tmp_path):
        pytest.skip(f"{compiler} has no address and undefined-behaviour sanitizer here")
    program = tmp_path / "tests"
    run(cc, *C_FLAGS, PRIVATE, *form, *SANITIZERS, *TESTS, *SOURCES, "-lm", "-o", program)
    out = run(program)
    assert re.search(r"^[1-9]\d* passed, 0 failed$", out, re.MULTILINE), out


def test_the_tests_reach_the_runtime(tmp_path: Path) -> None:
    found = c_coverage.measure(tmp_path)
    assert found.lines >= c_coverage.LEAST_LINES, found.table
    assert found.branches >= c_coverage.LEAST_BRANCHES, found.table


@pytest.mark.parametrize("optimisation", ["-O0", "-Os", "-O3"])
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_freestanding_object(compiler: str, optimisation: str, tmp_path: Path) -> None:
    """SEC14."""
    cc = need(compiler)
    for source in SOURCES:
        flags = ["-ffreestanding", "-nostdlib", "-Wmissing-prototypes", optimisation]
        run(cc, *C_FLAGS, *flags, "-c", source, "-o", tmp_path / "object.o")
        undefined = run(need("nm"), "--undefined-only", tmp_path / "object.o").split()
        foreign = {name for name in undefined if name != "U" and not name.startswith("em_")}
        assert foreign <= {"memcpy", "memset", "memcmp", "_GLOBAL_OFFSET_TABLE_"}


def test_no_writable_globals(tmp_path: Path) -> None:
    """SEC14."""
    for source in SOURCES:
        run(need("gcc"), *C_FLAGS, "-O2", "-c", source, "-o", tmp_path / "object.o")
        sections = run(need("size"), tmp_path / "object.o").splitlines()[1].split()
        assert sections[1:3] == ["0", "0"], f"{source.name} has .data or .bss"


def test_fast_math_is_refused(tmp_path: Path) -> None:
    command = [need("gcc"), "-ffast-math", f"-I{C / 'include'}", "-c", str(C / "src/em_open.c")]
    command += ["-o", str(tmp_path / "object.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "-ffast-math" in done.stderr


@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_cpp_wrapper(compiler: str, sample: Path, tmp_path: Path) -> None:
    cxx, cc = need(compiler), need("gcc")
    objects = []
    for source in SOURCES:
        objects.append(tmp_path / f"{source.stem}.o")
        run(cc, *C_FLAGS, "-O2", "-c", source, "-o", objects[-1])
    flags = ["-std=c++17", "-fno-exceptions", "-fno-rtti", *STRICT, f"-I{C / 'include'}"]
    run(cxx, *flags, HERE / "test_wrapper.cpp", *objects, "-o", tmp_path / "wrapper")
    run(tmp_path / "wrapper", sample)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_amalgamation(compiler: str, sample: Path, tmp_path: Path) -> None:
    cc = need(compiler)
    run(sys.executable, C / "amalgamate.py", tmp_path)
    flags = ["-std=c11", "-O2", "-ffp-contract=off", f"-I{tmp_path}", *STRICT]
    run(cc, *flags, "-c", tmp_path / "edgemon.c", "-o", tmp_path / "edgemon.o")
    source = HERE / "test_amalgamation.c"
    run(cc, *flags, "-Wno-unused-function", source, "-o", tmp_path / "program")
    run(tmp_path / "program", sample)


def test_installed_library(sample: Path, tmp_path: Path) -> None:
    """CMake builds and installs; a stranger finds the package and uses it."""
    cmake = need("cmake")
    need("gcc")
    build, prefix, user = (tmp_path / name for name in ("build", "prefix", "user"))
    options = ["-DEDGEMON_BUILD_TESTS=ON", "-DEDGEMON_BUILD_EXAMPLES=ON"]
    run(cmake, "-S", RUNTIME, "-B", build, "-DCMAKE_INSTALL_LIBDIR=lib", *options)
    run(cmake, "--build", build, "--parallel")
    run(cmake, "--install", build, "--prefix", prefix)
    assert "0 failed" in run(build / "edgemon-tests")
    out = run(build / "edgemon-evaluate", sample)
    assert "tap 1: tap, f32[3]" in out
    assert out.endswith("ok\n")

    user.mkdir()
    shutil.copy(C / "examples" / "evaluate.c", user)
    (user / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(user C)\n"
        "find_package(edgemon 0.1 REQUIRED)\nadd_executable(user evaluate.c)\n"
        "target_link_libraries(user edgemon::edgemon)\n"
    )
    run(cmake, "-S", user, "-B", user / "build", f"-DCMAKE_PREFIX_PATH={prefix}")
    run(cmake, "--build", user / "build")
    run(user / "build" / "user", sample)
    pkg_config = (prefix / "lib" / "pkgconfig" / "edgemon.pc").read_text()
    assert "-ledgemon" in pkg_config


def test_example_refuses_a_damaged_file(sample: Path, tmp_path: Path) -> None:
    program, damaged = tmp_path / "evaluate", tmp_path / "damaged.emon"
    run(need("gcc"), *C_FLAGS, C / "examples" / "evaluate.c", *SOURCES, "-o", program)
    damaged.write_bytes(sample.read_bytes()[:-16])
    done = subprocess.run([program, damaged], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "the file size in the header differs" in done.stdout


def test_source_format() -> None:
    tool = Path(sys.executable).parent / "clang-format"  # the one of the `dev` extra
    if not tool.exists() or "18.1.8" not in run(tool, "--version"):
        pytest.skip("clang-format 18.1.8 is not installed beside this Python")
    files = [path for path in C.rglob("*") if path.suffix in {".c", ".h", ".hpp"}]
    files += [*(RUNTIME / "binding").glob("*.[ch]"), *HERE.glob("*.[ch]"), *HERE.glob("*.cpp")]
    for folder in (RUNTIME / "examples", HERE.parent / "examples"):
        files += [path for path in folder.rglob("*") if path.suffix in {".c", ".h", ".cpp", ".hpp"}]
    style = f"--style=file:{C / '.clang-format'}"
    run(tool, "--dry-run", "-Werror", style, *files)


def patterns_artifact() -> bytes:
    """An artifact with both forms of ``hamming``, which the sample lacks."""
    b = Builder([Tap("codes", "int8", 40, 0.5, 3), Tap("reals", "float32", 5)])
    y = b.node("exceeds", b.node("max", 0), tables=[np.array([9], np.int32)])
    first = np.array([0, 1, 3], np.uint32)
    own = [np.zeros(0, np.uint32), packed(np.eye(3, 40, dtype=bool)), first]
    whole = b.node("hamming", 0, y, tables=[np.zeros(40, np.int32), *own])
    chosen = [np.array([0, 2, 4, 1], np.uint32), packed(np.eye(3, 2, dtype=bool)), first]
    part = b.node("hamming", 1, y, tables=[np.zeros(5, np.float32), *chosen])
    monitors = [Monitor("whole", whole, 3, 2), Monitor("part", part, 1, 0)]
    return flat.write(flat.Artifact(b.program(y, monitors), "00" * 32, {}))


@pytest.mark.parametrize("target", ["fuzz_open_evaluate", "fuzz_programs"])
def test_fuzzer_finds_nothing(target: str, sample: Path, tmp_path: Path) -> None:
    """Damaged files (SEC1), and valid programs of all ops on hostile taps (SEC2)."""
    clang = need("clang")
    program, corpus = tmp_path / "fuzz", tmp_path / "corpus"
    flags = ["-g", "-O1", "-ffp-contract=off", f"-I{C / 'include'}", PRIVATE, f"-I{HERE}"]
    flags += [
        "-fsanitize=fuzzer,address,undefined,float-cast-overflow",
        "-fno-sanitize-recover=all",
    ]
    sources = [C / "fuzz" / f"{target}.c", *SOURCES]
    if target == "fuzz_programs":  # no value of its bytes is magic: comparisons need no trace
        flags += ["-fno-sanitize-coverage=trace-cmp"]
        sources += GENERATOR
    command = [clang, *flags, *(str(source) for source in sources), "-o", str(program)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    if built.returncode != 0 and "fuzzer" in built.stderr and "cannot find" in built.stderr:
        pytest.skip("clang has no libFuzzer here")
    assert built.returncode == 0, built.stderr
    corpus.mkdir()
    if target == "fuzz_open_evaluate":
        for artifact in (sample, *CORPUS):
            shutil.copy(artifact, corpus)
        (corpus / "patterns.emon").write_bytes(patterns_artifact())
    limits = [f"-max_total_time={SECONDS}", "-max_len=4096", "-rss_limit_mb=2048", "-timeout=10"]
    run(program, *limits, "-print_final_stats=1", corpus, cwd=tmp_path)


def test_files_that_were_findings_are_harmless(tmp_path: Path) -> None:
    """The corpus: what once led the runtime out of its tables, or to trust in no number."""
    program = tmp_path / "replay"
    sources = [C / "fuzz" / "fuzz_open_evaluate.c", HERE / "replay.c", *SOURCES]
    run(need("gcc"), *C_FLAGS, PRIVATE, "-O1", *SANITIZERS, *sources, "-o", program)
    assert CORPUS
    run(program, *CORPUS)
