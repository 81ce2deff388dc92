"""Strict C11 and C++17/20 without a warning of any kind, and artifacts as headers in both."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemon.compiler.emit import flat
from tests.runtime.c_compilers import SOURCES, STRICT, C, need, run
from tests.runtime.versions import make

STORED = sorted(make.HERE.glob("*.emon"))[-1]
INCLUDE = f"-I{C / 'include'}"
ALL_OF_GCC = [
    "-pedantic-errors", "-Wcast-align=strict", "-Wcast-qual", "-Wstrict-prototypes",
    "-Wmissing-prototypes", "-Wundef", "-Wformat=2", "-Wwrite-strings", "-Wpointer-arith", "-Wvla",
    "-Wold-style-definition", "-Wnull-dereference", "-Wlogical-op", "-Wduplicated-cond",
    "-Wduplicated-branches", "-Wdouble-promotion", "-Wswitch-enum", "-Wbad-function-cast",
    "-Walloca", "-Wdate-time", "-Wjump-misses-init", "-Wnested-externs", "-Wunused-macros",
]  # fmt: skip
# What is no fault in C11: declarations among statements, padding, a comparison with zero, functions
# of headers that one of several sources uses, a macro's semicolon.
NO_FAULTS_OF_CLANG = [
    "-Wno-declaration-after-statement", "-Wno-padded", "-Wno-float-equal",
    "-Wno-used-but-marked-unused", "-Wno-extra-semi-stmt", "-Wno-unknown-warning-option",
    "-Wno-unsafe-buffer-usage", "-Wno-switch-default", "-Wno-pre-c11-compat",
]  # fmt: skip
NO_FAULTS_OF_CPP = ["-Wno-c++98-compat", "-Wno-c++98-compat-pedantic", "-Wno-padded",
                    "-Wno-unknown-warning-option", "-Wno-unsafe-buffer-usage",
                    "-Wno-missing-prototypes", "-Wno-c++20-compat",
                    "-Wno-zero-as-null-pointer-constant"]  # fmt: skip


@pytest.mark.parametrize("optimisation", ["-Os", "-O3"])
def test_gcc_warns_of_nothing(optimisation: str, tmp_path: Path) -> None:
    flags = ["-std=c11", optimisation, "-ffp-contract=off", *STRICT, *ALL_OF_GCC, INCLUDE]
    for source in SOURCES:
        run(need("gcc"), *flags, "-c", source, "-o", tmp_path / "object.o")


def test_clang_warns_of_nothing() -> None:
    flags = ["-std=c11", "-pedantic-errors", "-Weverything", "-Werror", *NO_FAULTS_OF_CLANG]
    run(need("clang"), *flags, "-ffp-contract=off", INCLUDE, "-fsyntax-only", *SOURCES)


@pytest.mark.parametrize("standard", ["c++17", "c++20"])
@pytest.mark.parametrize("compiler", ["g++", "clang++"])
def test_the_headers_are_clean_in_cpp(compiler: str, standard: str, tmp_path: Path) -> None:
    """Both headers, and an artifact as a header, in one program; with spans where there are."""
    source = tmp_path / "main.cpp"
    (tmp_path / "monitor.h").write_text(flat.c_header(STORED.read_bytes()))
    source.write_text(
        "#include <edgemon/edgemon.hpp>\n#include <vector>\n#include \"monitor.h\"\n"
        "#if __cplusplus >= 202002L\n#include <span>\nusing Taps = std::span<const em_tap>;\n"
        "#else\nusing Taps = std::vector<em_tap>;\n#endif\n"
        "em_status opened(edgemon::Monitor &m) { return m.open(edgemon_monitor, sizeof "
        "edgemon_monitor); }\n"
        "em_verdict judged(const edgemon::Monitor &m, const Taps &taps, void *w, std::size_t n) {\n"
        "    static_assert(noexcept(m.evaluate(taps, w, n)), \"\");\n"
        "    return m.evaluate(taps, w, n).verdict;\n}\n"
    )  # fmt: skip
    flags = [f"-std={standard}", "-pedantic-errors", *STRICT, "-fno-exceptions", "-fno-rtti"]
    if compiler == "clang++":
        flags += ["-Weverything", *NO_FAULTS_OF_CPP]
    run(need(compiler), *flags, INCLUDE, "-fsyntax-only", source)


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++", "clang++"])
def test_an_artifact_as_a_header_runs_in_c_and_in_cpp(compiler: str, tmp_path: Path) -> None:
    cpp, cc = compiler.endswith("+"), need("gcc")
    source = tmp_path / f"main.{'cpp' if cpp else 'c'}"
    (tmp_path / "monitor.h").write_text(flat.c_header(STORED.read_bytes()))
    source.write_text(
        "#include <edgemon/edgemon.h>\n#include \"monitor.h\"\n"
        "int main(void) {\n    em_monitor m;\n"
        "    return em_open(&m, edgemon_monitor, sizeof edgemon_monitor) == EM_OK ? 0 : 1;\n}\n"
    )  # fmt: skip
    objects = []
    for number, runtime in enumerate(SOURCES):
        objects.append(tmp_path / f"{number}.o")
        run(cc, "-std=c11", "-ffp-contract=off", INCLUDE, "-c", runtime, "-o", objects[-1])
    flags = ["-std=c++17" if cpp else "-std=c11", *STRICT, INCLUDE]
    run(need(compiler), *flags, source, *objects, "-o", tmp_path / "program")
    run(tmp_path / "program")
