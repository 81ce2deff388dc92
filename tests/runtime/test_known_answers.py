"""A build whose floats round otherwise is refused by ``em_open``, whatever the artifact.

Each build of the amalgamation computes what the ops give on many rows, also where it is refused;
it is refused exactly when one bit differs from a strict build (or the compiler refuses already).
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgemon.compiler.emit import flat
from edgemon.compiler.program.ir import Builder, Monitor, Node, Tap
from edgemon.compiler.program.ops import OPS
from edgemon.compiler.program.ops.op import Value
from edgemon.compiler.program.ops.sums import halving_sum
from edgemon.compiler.program.ops.transcendental import EXP_COEFFICIENTS
from edgemon.runtime import _native
from tests.runtime.c_compilers import CROSS, HERE, STRICT, C, need, run

KNOWN = (C / "src" / "em_known_answers.c").read_text()
REFUSED = -30  # EM_E_FLOAT
EXACT = ("-std=c11", "-O2", "-ffp-contract=off")
DEFAULT = ("-std=gnu11", "-O2")
ASSOCIATIVE = ("-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math")


@dataclass(frozen=True)
class Outcome:
    """``status`` of em_open, None where the compiler itself refuses; ``same``: are all results?"""

    status: int | None
    same: bool

    @property
    def consistent(self) -> bool:
        return self.status is None or self.status == (0 if self.same else REFUSED)


class Builds:
    """Builds of the amalgamation, and the results of a strict one to compare with."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        run(sys.executable, C / "amalgamate.py", folder)
        (folder / "floats.emon").write_bytes(float_artifact())
        self.right = self._run(self._program("gcc", EXACT, ()), [], "")[1]

    def outcome(
        self,
        compiler: str,
        flags: tuple[str, ...],
        *,
        mode: str = "",
        link: tuple[str, ...] = (),
        runner: tuple[str, ...] = (),
    ) -> Outcome:
        program = self._program(compiler, flags, link)
        if program is None:
            return Outcome(None, False)
        status, results = self._run(program, list(runner), mode)
        return Outcome(status, results == self.right)

    def _program(self, compiler: str, flags: tuple[str, ...], link: tuple[str, ...]) -> Path | None:
        name = re.sub(r"\W+", "_", "_".join((compiler, *flags, *link)))
        program = self.folder / name
        if program.exists():
            return program
        common = [f"-I{self.folder}", "-Wno-unused-function", "-w"]
        command = [need(compiler), *flags, *common, "-c", str(HERE / "arithmetic.c")]
        done = subprocess.run(
            [*command, "-o", f"{program}.o"], capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            assert "edgemon promises exact float results" in done.stderr or (
                "edgemon needs single-precision arithmetic" in done.stderr
            ), done.stderr
            return None
        run(need(compiler), "-static", *link, f"{program}.o", "-o", program, "-lm")
        return program

    def _run(self, program: Path | None, runner: list[str], mode: str) -> tuple[int, str]:
        assert program is not None
        modes = [mode] if mode else []
        status, results = run(*runner, program, self.folder / "floats.emon", *modes).split()
        return int(status), results


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> Builds:
    need("gcc")
    return Builds(tmp_path_factory.mktemp("builds"))


def float_artifact() -> bytes:
    """All ops whose results floats decide, over sums of every form; one tap of 300 numbers."""
    rng = np.random.default_rng(3)

    def floats(*shape: int) -> npt.NDArray[np.float32]:
        return rng.normal(0, 1, shape).astype(np.float32).ravel()

    lengths = (5, 24, 64, 70, 300)
    b = Builder([Tap("x", "float32", 300)])
    x = {n: b.node("gather", 0, tables=[np.arange(n, dtype=np.uint32)]) for n in (1, *lengths)}
    predicted = b.node("argmax", x[5])
    for n in lengths:
        b.node("affine", x[n], tables=[floats(3, n), floats(3)])
        b.node("distances", x[n], tables=[floats(3, n)])
        b.node("squared_error", x[n], b.node("exp", x[n]))
        codes = rng.integers(-128, 128, 3 * n).astype(np.int8)
        scale = np.array([0.017], np.float32)
        b.node("kernels", x[n], tables=[np.array([1, 3], np.uint32), codes, scale, floats(3)])
        b.node("logsumexp", x[n], tables=[np.array([1], np.uint32)])
        b.node("exp", x[n])
        b.node("log", b.node("mul", x[n], x[n]))
        b.node("max", x[n])
    for n, channels in ((70, 2), (300, 12), (300, 30), (64, 1)):
        b.node("reduce", x[n], tables=[np.array([channels], np.uint32)])
        b.node("deviation", x[n], tables=[np.array([channels], np.uint32)])
    b.node("div", x[70], x[1])
    b.node("sub", x[70], x[1])
    b.node("add", x[24], b.node("clip", x[24], tables=[np.array([0.3], np.float32)]))
    b.node("to_f32", x[70], tables=[np.array([0.017], np.float32), np.zeros(1, np.int32)])
    origin, rate = floats(24), np.abs(floats(24)) + np.float32(0.1)
    entries = rng.integers(-99, 99, 2 * 24 * 9).astype(np.int16)
    b.node("tables", x[24], tables=[origin, rate, np.array([2, 9], np.uint32), entries])
    upper = np.abs(floats(5, 24))
    first = np.array([0, 1, 2, 3, 4, 5], np.uint32)
    b.node("boxes", x[24], predicted, tables=[-upper, upper, rate, first])
    score = b.node("sum", x[70])
    program = b.program(predicted, [Monitor("sum", score, 1.0, 0.5)])
    return flat.write(flat.Artifact(program, "00" * 32, {}))


HERE_FLAGS = {
    "strict": EXACT,
    "default": DEFAULT,
    "default, O3": ("-std=gnu11", "-O3"),
    "fused": (*DEFAULT, "-mfma", "-ffp-contract=fast"),
    "small": (*EXACT, "-DEDGEMON_SMALL=1"),
    "small, fused": (*DEFAULT, "-mfma", "-ffp-contract=fast", "-DEDGEMON_SMALL=1"),
    "haswell": ("-std=gnu11", "-O3", "-march=haswell"),
    "reassociated": (*EXACT, *ASSOCIATIVE),
    "reciprocals": (*EXACT, "-freciprocal-math"),
    "no signed zeros": (*EXACT, "-fno-signed-zeros"),
    "fast": ("-Ofast",),
    "fast, but for finite math": (*EXACT, "-ffast-math", "-fno-finite-math-only"),
}


@pytest.mark.parametrize("flags", HERE_FLAGS)
@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_build_is_refused_exactly_when_bits_differ(
    compiler: str, flags: str, builds: Builds
) -> None:
    found = builds.outcome(compiler, HERE_FLAGS[flags])
    assert found.consistent
    if flags in ("strict", "small", "default", "default, O3"):
        if sys.platform == "linux" and "x86_64" in run("uname", "-m"):
            assert found.status == 0
    elif "fused" in flags or "reassociated" in flags or "fast" in flags:
        assert found.status != 0
    elif flags == "haswell" and compiler == "gcc":  # which fuses by default
        assert found.status == REFUSED


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
@pytest.mark.parametrize("mode", ["up", "down", "toward_zero", "flush", "denormals_are_zero"])
def test_how_the_processor_is_set_is_found(compiler: str, mode: str, builds: Builds) -> None:
    found = builds.outcome(compiler, EXACT, mode=mode)
    assert found == Outcome(REFUSED, False)


def test_a_program_linked_with_fast_math_is_refused(builds: Builds) -> None:
    """gcc's start-up code sets flush-to-zero then, though every file was compiled strictly."""
    found = builds.outcome("gcc", EXACT, link=("-ffast-math",))
    assert found == Outcome(REFUSED, False)


def test_constants_of_single_precision_are_judged(builds: Builds) -> None:
    assert builds.outcome("gcc", (*EXACT, "-fsingle-precision-constant")).consistent


CROSS_FLAGS = {
    "strict": EXACT,
    "default": DEFAULT,
    "neon-vfpv4": (*DEFAULT, "-mfpu=neon-vfpv4"),
}


@pytest.mark.parametrize(
    ("machine", "flags"),
    [(m, f) for m in CROSS for f in CROSS_FLAGS if m == "armhf" or f != "neon-vfpv4"],
)
def test_other_machines_are_refused_exactly_when_bits_differ(
    machine: str, flags: str, builds: Builds
) -> None:
    compiler, emulator = CROSS[machine]
    found = builds.outcome(compiler, CROSS_FLAGS[flags], runner=(need(emulator),))
    assert found.consistent
    if flags == "strict":
        assert found.status == 0
    elif machine != "armhf" or flags == "neon-vfpv4":  # gcc fuses by default where it can
        assert found.status == REFUSED


@pytest.mark.parametrize("machine", CROSS)
def test_other_machines_find_how_they_are_set(machine: str, builds: Builds) -> None:
    compiler, emulator = CROSS[machine]
    modes = ["up", "down", "toward_zero", *([] if machine == "riscv64" else ["flush"])]
    for mode in modes:
        found = builds.outcome(compiler, EXACT, mode=mode, runner=(need(emulator),))
        assert found == Outcome(REFUSED, False), mode


Words = npt.NDArray[np.uint32]
NUMBERS = 133  # of a build that is not small; then words of their own
AFTER = re.findall(r"(\w+) = NUMBERS \+ (\d+)", KNOWN)


def known_words() -> Words:
    """The words of em_known_answers.c, which names one of them and writes two as numbers."""
    start = KNOWN.index(".words =")
    block = KNOWN[start : KNOWN.index("};", start)]
    found = re.findall(r"(?<=[ \n])(0x[0-9A-F]{8}|EM_NAN|\d+)(?=,)", block)
    numbers = [0x7FC00000 if word == "EM_NAN" else int(word, 0) for word in found]
    assert len(numbers) == NUMBERS + 9
    return np.array(numbers, np.uint32)


def test_the_known_answers_are_those_of_the_reference() -> None:
    """The steps of em_known_answers.c, evaluated by compiler/program/ops."""
    words = known_words()
    steps = re.findall(r"X\((\w+), EM_(\w+), (.*?), (0x[0-9A-F]{8})\)", KNOWN)
    places = dict(re.findall(r"(\w+) = (\d+),", KNOWN)) | {"SMALL": f"{NUMBERS}"}
    places |= {name: f"{NUMBERS + int(n)}" for name, n in AFTER}
    assert len(steps) > 20
    found = {}
    with np.errstate(all="ignore"):
        for name, dtype, rest, stated in steps:
            numbers = [int(places.get(part.strip(), part)) for part in rest.split(",")]
            step = f"{name}, {dtype}, {rest}"
            found[step, stated] = step, f"0x{fnv(answer(name.lower(), dtype, numbers, words)):08X}"
    assert list(found) == list(found.values())


def fnv(words: Words) -> int:
    """FNV-1a over words."""
    result = 0x811C9DC5
    for word in words:
        result = ((result ^ int(word)) * 0x01000193) & 0xFFFFFFFF
    return result


def answer(op: str, dtype: str, numbers: list[int], words: Words) -> Words:
    """Bits of one step's result; a NaN is the one of EM_NAN."""
    x_at, x_length, y_at, y_length, length, _ = numbers
    kind = np.float32 if dtype == "F32" else np.int32
    floats = words.view(np.float32)
    x = words[x_at : x_at + x_length].view(kind)[None]
    y = words[y_at : y_at + y_length].view(kind)[None]
    group = np.array([length], np.uint32)
    tables = {
        "reduce": [group],
        "deviation": [group],
        "logsumexp": [group],
        "affine": [floats[2 : 2 + length * x_length], floats[30 : 30 + length]],
        "distances": [floats[3 : 3 + length * x_length]],
        "kernels": [
            np.array([1, length], np.uint32),
            words.view(np.int8)[: length * x_length],
            floats[-1:],
            floats[50 : 50 + length],
        ],
        "to_f32": [floats[7:8], np.array([1], np.int32)],
        "clip": [floats[NUMBERS + 4 : NUMBERS + 5]],
    }.get(op, [])
    value = Value("float32", length)
    node = Node(op, (0, 1), tuple(tables), value)
    found = OPS[op].evaluate(node, *(x, y)[: OPS[op].inputs])[0]
    bits = np.ascontiguousarray(found).view(np.uint32).copy()
    if found.dtype == np.float32:
        bits[np.isnan(found)] = 0x7FC00000
    return bits


def test_fusing_any_op_changes_a_known_answer() -> None:
    """Each op whose sums are long has three steps, of which two at least see a fused product."""
    f = known_words().view(np.float32)
    seen = np.zeros(2, int)
    for n, rows in ((5, 12), (24, 3), (70, 1)):
        x = np.broadcast_to(f[:n], (rows, n))
        weight, bias = f[2 : 2 + rows * n].reshape(rows, n), f[30 : 30 + rows]
        exact, fused = halves(x, weight)
        seen[0] += (exact + bias != fused + bias).any()
        apart = x - f[3 : 3 + rows * n].reshape(rows, n)
        exact, fused = halves(apart, apart)
        seen[1] += (exact != fused).any()
    assert (seen >= 2).all()
    x = f[:40][None]
    assert (horner(x, fused=True) != horner(x, fused=False)).any()


def halves(a: npt.NDArray[Any], b: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The halving sum of products, and that with the first halving fused."""
    length = 1 << (a.shape[1] - 1).bit_length()
    a, b = (np.pad(v, ((0, 0), (0, length - v.shape[1]))) for v in (a, b))
    h = length // 2
    once = fma(a[:, :h], b[:, :h], a[:, h:] * b[:, h:])
    return halving_sum(a * b)[:, 0], halving_sum(once)[:, 0]


def horner(x: npt.NDArray[Any], *, fused: bool) -> npt.NDArray[Any]:
    """The polynomial of exp on the known numbers."""
    p = np.full_like(x, EXP_COEFFICIENTS[-1])
    for c in EXP_COEFFICIENTS[-2::-1]:
        p = fma(p, x, np.full_like(x, c)) if fused else p * x + c
    return p


def fma(a: npt.NDArray[Any], b: npt.NDArray[Any], c: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """One rounding, of a product that float64 holds exactly and a sum that it nearly does."""
    return (a.astype(np.float64) * b.astype(np.float64) + c).astype(np.float32)


@pytest.mark.parametrize("target", ["avr", "msp430"])
def test_an_int_of_16_bits_is_refused_when_compiled(target: str, tmp_path: Path) -> None:
    clang = need("clang")
    (tmp_path / "string.h").write_text("#include <stddef.h>\n")
    command = [clang, f"--target={target}", "-ffreestanding", "-fsyntax-only", f"-I{tmp_path}"]
    command += [f"-I{C / 'include'}", str(C / "src" / "em_family_dense.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unknown target" in done.stderr or "unable to create target" in done.stderr:
        pytest.skip(f"clang cannot compile for {target}")
    assert done.returncode != 0
    assert "edgemon needs an int of 32 bits or more" in done.stderr


def test_the_status_says_how_to_build() -> None:
    assert "-ffp-contract=off" in _native.status_text(REFUSED)


def test_a_fused_build_is_refused_on_an_artifact_that_passed(
    shared: Path, builds: Builds, tmp_path: Path
) -> None:
    """Its self-test agreed in a fused build, and 41 of its scores had other bits."""
    case = shared / "data" / "cases" / "07-fma-self-test" / "monitor.emon"
    if not case.is_file():
        pytest.skip(f"{case} is missing: the cases are not in the repository")
    shutil.copy(C / "examples" / "evaluate.c", tmp_path)
    include = [f"-I{C / 'include'}", f"-I{builds.folder}"]
    for flags, wanted in ((EXACT, "ok"), ((*DEFAULT, "-mfma"), "-ffp-contract=off")):
        program = tmp_path / "evaluate"
        sources = [tmp_path / "evaluate.c", builds.folder / "edgemon.c"]
        run(need("gcc"), *flags, *STRICT, *include, *sources, "-o", program)
        done = subprocess.run([program, case], capture_output=True, text=True, check=False)
        assert wanted in done.stdout + done.stderr
