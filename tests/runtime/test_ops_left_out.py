"""A runtime with only the ops of an artifact is smaller, gives the same, and says what it lacks."""

from __future__ import annotations

import re
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.compiler.program.ops import DEVICE_OPS
from edgemon.runtime import monitor as loaded
from tests.compiler.op_cases import CASES, program_of
from tests.runtime.c_compilers import (
    C_FLAGS,
    HERE,
    PRIVATE,
    RUNTIME,
    SOURCES,
    STRICT,
    C,
    need,
    run,
)
from tests.runtime.c_coverage import tool
from tests.runtime.versions import make

EVERYTHING = make.HERE / f"{flat.MAJOR}.{flat.MINOR}.emon"
NAMES = [op.name for op in DEVICE_OPS.values()]
FLOATS_ALONE = ("to_f32", "exp", "log", "mul", "div", "tables", "kernels", "distances", "logsumexp")
STRING_H = """#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
"""
LEFT_OUT = "this build of the runtime leaves out an op that the artifact needs: "
AMALGAMATE = (sys.executable, C / "amalgamate.py")


@pytest.fixture(scope="module")
def boxes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An artifact of five ops."""
    b = Builder([Tap("codes", "int8", 4), Tap("logits", "int8", 3)])
    predicted = b.node("argmax", 1)
    corners = np.arange(-8, 4, dtype=np.int8)
    tables = [corners, corners + np.int8(9), np.ones(4, np.int32), np.arange(4, dtype=np.uint32)]
    outside = b.node("boxes", 0, predicted, tables=tables)
    gap = b.node("sub", b.node("max", 1), b.node("max", 0))
    near = b.node("exceeds", gap, tables=[np.array([4], np.int32)])
    monitors = [Monitor("box", outside, 3, 0), Monitor("near", near, 0, 0)]
    path = tmp_path_factory.mktemp("boxes") / "monitor.emon"
    path.write_bytes(flat.write(flat.Artifact(b.program(predicted, monitors), "00" * 32, {})))
    return path


def chosen(*names: str) -> list[str]:
    macros = ("FLOATS" if name == "floats" else f"OP_{name.upper()}" for name in names)
    return ["-DEDGEMON_SOME_OPS", *(f"-DEDGEMON_{macro}=1" for macro in macros)]


def code_bytes(compiler: str, folder: Path) -> int:
    """Of the amalgamation in a folder, with -Os and all warnings."""
    flags = ["-std=c11", "-Os", "-ffp-contract=off", "-Wmissing-prototypes", *STRICT]
    run(compiler, *flags, "-c", folder / "edgemon.c", "-o", folder / "edgemon.o")
    text, data, bss = run(need("size"), folder / "edgemon.o").splitlines()[1].split()[:3]
    assert (data, bss) == ("0", "0")
    return int(text)


def answer_of(program: Path, artifact: Path) -> str:
    """The last line of examples/evaluate.c, without the path."""
    done = subprocess.run([program, artifact], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[-1].removeprefix(f"{artifact}: ")


def test_capitals_are_the_name() -> None:
    """So that EDGEMON_OP_NAME, made of the name, is what the list asks for."""
    rows = re.findall(r"X\(\d+, (\w+), (\w+),", (C / "src" / "em_op_list.h").read_text())
    assert {name.upper(): name for name in NAMES} == dict(rows)


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_only_the_ops_of_an_artifact(compiler: str, boxes: Path, tmp_path: Path) -> None:
    """Its code is smaller by what the others take; another artifact is refused by its op."""
    cc = need(compiler)
    run(*AMALGAMATE, tmp_path / "all")
    run(*AMALGAMATE, tmp_path / "few", "--for", boxes)
    everything, few = (code_bytes(cc, tmp_path / name) for name in ("all", "few"))
    assert few < 0.6 * everything
    objects = tmp_path / "few" / "edgemon.o"
    program = tmp_path / "evaluate"
    run(cc, *C_FLAGS, C / "examples" / "evaluate.c", objects, "-o", program)
    assert answer_of(program, boxes) == "ok"
    assert answer_of(program, EVERYTHING) == f"{LEFT_OUT}floats"


def test_verdicts_do_not_depend_on_what_is_left_out(boxes: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = rng.integers(-20, 20, (200, 7)).astype(np.int8)
    (tmp_path / "taps").write_bytes(rows.tobytes())
    ops = run(*AMALGAMATE, "--for", boxes).strip().split(",")
    assert ops == ["argmax", "boxes", "exceeds", "max", "sub"]
    results = []
    for flags in ([], chosen(*ops)):
        program = tmp_path / "rows"
        sources = [HERE / "evaluate_rows.c", *SOURCES]
        run(need("gcc"), *C_FLAGS, *flags, PRIVATE, "-O2", *sources, "-o", program)
        done = subprocess.run([program, boxes, tmp_path / "taps"], capture_output=True, check=True)
        results.append(done.stdout)
    assert results[0] == results[1]
    assert len(results[0]) > 200 * 8
    found = loaded.Monitor(boxes.read_bytes()).evaluate([rows[:, :4].copy(), rows[:, 4:].copy()])
    stride = len(results[0]) // 200
    words = np.frombuffer(results[1], np.int32).reshape(200, stride // 4)
    np.testing.assert_array_equal(words[:, 1], found.predicted)


@pytest.mark.parametrize("name", NAMES)
def test_each_op_alone_can_be_left_out(name: str, tmp_path: Path) -> None:
    """Nothing is unused without it, nothing is missing where it is the only one."""
    gcc, clang = need("gcc"), need("clang")
    others = [other for other in NAMES if other != name]
    run(*AMALGAMATE, tmp_path, "--ops", name)
    strict = ["-std=c11", *STRICT, "-ffp-contract=off"]
    run(clang, *strict, "-fsyntax-only", tmp_path / "edgemon.c")
    run(*AMALGAMATE, tmp_path, "--ops", f"{name},floats")
    run(clang, *strict, "-fsyntax-only", tmp_path / "edgemon.c")
    run(*AMALGAMATE, tmp_path, "--ops", ",".join([*others, "floats"]))
    run(clang, *strict, "-fsyntax-only", tmp_path / "edgemon.c")
    program = tmp_path / "evaluate"
    sources = [C / "examples" / "evaluate.c", tmp_path / "edgemon.c"]
    run(gcc, *strict, f"-I{C / 'include'}", *sources, "-o", program)
    needs_it = tmp_path / "monitor.emon"
    case = program_of(name, CASES[name][0][0])
    needs_it.write_bytes(flat.write(flat.Artifact(case, "00" * 32, {})))
    assert answer_of(program, needs_it) == LEFT_OUT + name


@pytest.mark.parametrize("small", ["0", "1"])
def test_a_build_without_floats_has_none(small: str, tmp_path: Path) -> None:
    """Made for a processor that calls a function for every float operation; but one with floats
    does call them."""
    clang = need("clang")
    names = [name for name in NAMES if name not in FLOATS_ALONE]
    (tmp_path / "string.h").write_text(STRING_H)
    flags = ["--target=thumbv6m-none-eabi", "-std=c11", "-Os", f"-DEDGEMON_SMALL={small}", *STRICT]
    flags += ["-ffreestanding", f"-I{tmp_path}"]
    for ops, least in ((names, 0), ([*names, "floats"], 1)):
        run(*AMALGAMATE, tmp_path, "--ops", ",".join(ops))
        run(clang, *flags, "-c", tmp_path / "edgemon.c", "-o", tmp_path / "edgemon.o")
        symbols = run(tool(clang, "llvm-nm"), "--undefined-only", tmp_path / "edgemon.o")
        calls = re.findall(r"__aeabi_(?:[cfd]|u?[il]2[fd])\w*", symbols)
        assert bool(calls) == bool(least), calls


def test_an_artifact_with_a_float_tap_alone_needs_floats(tmp_path: Path) -> None:
    b = Builder([Tap("logits", "float32", 3)])
    predicted = b.node("argmax", 0)
    path = tmp_path / "monitor.emon"
    few = b.program(predicted, [Monitor("class", predicted, 1, 1)])
    path.write_bytes(flat.write(flat.Artifact(few, "00" * 32, {})))
    assert run(*AMALGAMATE, "--for", path).strip() == "argmax,floats"


def with_unknown_op(artifact: Path, folder: Path) -> Path:
    """A copy whose first node has an op that no list has."""
    data = bytearray(artifact.read_bytes())
    nodes = int.from_bytes(data[64 + 16 * 2 + 4 :][:4], "little")
    data[nodes : nodes + 2] = (len(NAMES) + 1).to_bytes(2, "little")
    data[28:32] = zlib.crc32(data[32:], zlib.crc32(data[:28])).to_bytes(4, "little")
    (folder / "unknown.emon").write_bytes(data)
    return folder / "unknown.emon"


def test_an_unknown_op_is_no_op_left_out(boxes: Path, tmp_path: Path) -> None:
    """Its status is that of an invalid node, as in a build with all ops."""
    unknown = with_unknown_op(boxes, tmp_path)
    command = [*AMALGAMATE, "--for", unknown]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert f"needs op {len(NAMES) + 1}, which this runtime does not know" in done.stderr
    for flags in ([], chosen("argmax", "max")):
        program = tmp_path / "evaluate"
        sources = [C / "examples" / "evaluate.c", *SOURCES]
        run(need("gcc"), *C_FLAGS, *flags, *sources, "-o", program)
        assert answer_of(program, unknown) == "a node record is invalid"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--ops", "argmx"], "no op 'argmx'; there are argmax, max"),
        (["--for", "nowhere"], "nowhere: cannot be read"),
        (["--for", str(Path(__file__))], "not an edgemon artifact"),
        ([], "name a folder to write into, or --for"),
    ],
)
def test_mistakes_get_a_sentence(arguments: list[str], said: str) -> None:
    done = subprocess.run([*AMALGAMATE, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_cmake_builds_only_the_ops_of_artifacts(boxes: Path, tmp_path: Path) -> None:
    cmake = need("cmake")
    need("gcc")
    build = tmp_path / "build"
    ops = "-DEDGEMON_OPS=exp;floats"
    options = [f"-DEDGEMON_FOR={boxes.name}", ops, "-DEDGEMON_BUILD_EXAMPLES=ON"]
    run(cmake, "-S", RUNTIME, "-B", build, *options, cwd=boxes.parent)
    run(cmake, "--build", build, "--parallel")
    program = build / "edgemon-evaluate"
    assert answer_of(program, boxes) == "ok"
    assert answer_of(program, EVERYTHING) == f"{LEFT_OUT}gather"
    for option, said in (
        ("-DEDGEMON_OPS=argmx", "no op argmx"),
        ("-DEDGEMON_BUILD_TESTS=ON", "tests and fuzzers use all ops"),
        ("-DEDGEMON_FOR=nowhere", "cannot be read"),
    ):
        command = [cmake, "-S", RUNTIME, "-B", build, "-DEDGEMON_OPS=exp", option]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert said in re.sub(r"\s+", " ", done.stderr)
