"""``edgemon-bench``, the C program: its figures, its results beside the reference's, and what it
says to files that are not as it wants them."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from edgemon import targets
from edgemon.compiler.emit import flat
from edgemon.compiler.program import reference
from edgemon.compiler.program.ir import Builder, Monitor, Program, Tap
from edgemon.runtime.monitor import Monitor as Opened
from tests.runtime.c_compilers import C_FLAGS, PRIVATE, RUNTIME, SANITIZERS, SOURCES, C, need, run

Array = npt.NDArray[Any]

BENCH = sorted((C / "bench").glob("*.c"))
ROWS = 12
CROSS = {
    "aarch64": ("aarch64-linux-gnu-gcc", "qemu-aarch64"),
    "armhf": ("arm-linux-gnueabihf-gcc", "qemu-arm"),
    "riscv64": ("riscv64-linux-gnu-gcc", "qemu-riscv64"),
}
HEAD, RECORD = 32, 16  # of the taps file


def program() -> Program:
    """Integer and float scores, taps whose rows need padding, and a tap of the mirrored image."""
    b = Builder(
        [Tap("codes", "int8", 5), Tap("x", "float32", 3), Tap("x", "float32", 3, view="mirror")]
    )
    predicted = b.node("argmax", 0)
    top, odd = b.node("max", 0), b.node("sum", b.node("add", 1, 2))
    return b.program(predicted, [Monitor("top", top, 90, 50), Monitor("sum", odd, 1.0, 0.5)])


def recorded() -> list[Array]:
    rng = np.random.default_rng(0)
    rows = [rng.integers(-128, 128, (ROWS, 5)).astype(np.int8)]
    rows += [rng.normal(size=(ROWS, 3)).astype(np.float32) for _ in range(2)]
    rows[1][7, 1] = np.nan  # a fault is a result, too
    return rows


def artifact_of(own: Program) -> bytes:
    return flat.write(flat.Artifact(own, "00" * 32, {}))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Artifacts of all monitors and of each alone, and their taps."""
    folder, rows, own = tmp_path_factory.mktemp("taps"), recorded(), program()
    parts = {"monitor.emon": own} | {f"{m.name}.emon": own.only(m.name) for m in own.monitors}
    results = []
    for name, part in parts.items():
        (folder / name).write_bytes(artifact_of(part))
        found = reference.evaluate(part, [rows[own.taps.index(t)] for t in part.taps])
        results.append((artifact_of(part), targets.results_crc(found)))
    taps = Opened(artifact_of(own)).taps
    (folder / "taps.bin").write_bytes(targets.taps_file(taps, rows, results))
    return folder


def build(cc: str, folder: Path, *flags: str) -> Path:
    path = folder / f"edgemon-bench-{Path(cc).name}"
    run(need(cc), *C_FLAGS, PRIVATE, *flags, *BENCH, *SOURCES, "-o", path)
    return path


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """With sanitizers; that the program keeps its memory to its end is no leak."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASAN_OPTIONS", "detect_leaks=0")
        yield build("gcc", tmp_path_factory.mktemp("native"), "-O0", *SANITIZERS)


def measured(*command: str | Path) -> Any:
    return json.loads(run(*command, "--rounds", "5", "--json"))


def require_right(found: Any) -> None:
    """Results and taps are those of Python, and figures are in order."""
    own, rows = program(), recorded()
    assert found["rows"] == ROWS
    assert found["rounds"] == 5
    crc = 0
    for tap in rows:
        crc = zlib.crc32(tap.tobytes(), crc)
    assert found["crc32"]["taps"] == f"{crc:08x}"
    assert [m["name"] for m in found["monitors"]] == ["all", "top", "sum"]
    for line, part in zip(found["monitors"], (own, own.only("top"), own.only("sum")), strict=True):
        expected = reference.evaluate(part, [rows[own.taps.index(t)] for t in part.taps])
        artifact = artifact_of(part)
        assert line["crc32"]["outputs"] == f"{targets.results_crc(expected):08x}"
        assert line["crc32"]["artifact"] == f"{zlib.crc32(artifact):08x}"
        assert line["as_reference"] is True
        assert line["faults"] == np.count_nonzero(expected.reason)
        assert line["artifact_bytes"] == len(artifact)
        assert line["workspace_bytes"] == Opened(artifact).workspace_size
        assert line["work"] == Opened(artifact).work
        spread = line["c_ns_distribution"]
        assert list(spread) == ["min", "p50", "p90", "p99", "max"]
        assert list(spread.values()) == sorted(spread.values())
        assert line["c_ns"] == spread["min"] > 0
        assert line["c_ns_p50"] == spread["p50"]
        assert all(line[k] is None or line[k] > 0 for k in ("first_ns", "open_ns"))
    assert found["monitors"][0]["faults"] == 1
    assert found["bundle"] == "monitor.emon"
    assert found["environment"]["api_version"] == 5


def files(folder: Path) -> list[Path]:
    return [folder / name for name in ("monitor.emon", "top.emon", "sum.emon", "taps.bin")]


def test_json_and_results_as_python_computes_them(bench: Path, folder: Path) -> None:
    found = measured(bench, *files(folder))
    require_right(found)
    assert found["crc32"]["outputs"] == found["monitors"][0]["crc32"]["outputs"]
    assert found["environment"]["pointer_bits"] in (32, 64)
    assert found["environment"]["kernels"] == "fast"


def test_a_table_for_people(bench: Path, folder: Path) -> None:
    lines = run(bench, *files(folder), "--rounds", "3").splitlines()
    assert [line.split()[0] for line in lines[5:8]] == ["all", "top", "sum"]
    assert "12 rows, 3 interleaved rounds" in lines[1]
    assert lines[9].endswith("rows with a fault, which is quicker")
    assert all("as the reference" in line for line in lines[9:12])


@pytest.mark.parametrize("machine", CROSS)
def test_on_every_target_with_an_operating_system(
    machine: str, folder: Path, tmp_path: Path
) -> None:
    if not os.environ.get("EDGEMON_ALL_TARGETS"):
        pytest.skip("set EDGEMON_ALL_TARGETS=1, or run `make test-targets`")
    cc, emulator = CROSS[machine]
    program_ = build(cc, tmp_path, "-Os", "-static")
    found = measured(need(emulator), program_, *files(folder))
    require_right(found)
    assert found["environment"]["machine"] == {"armhf": "arm"}.get(machine, machine)


VECTORS = """\
void _start(void);
__attribute__((section(".vectors"), used)) static const struct {
    unsigned *stack;
    void (*handlers[15])(void);
} vectors = {(unsigned *)0x3ff000, {_start}};
"""


def test_on_the_bare_metal_of_a_board(folder: Path, tmp_path: Path) -> None:
    """Its files and its clock, of 10 ms, are those of the debugger."""
    if not os.environ.get("EDGEMON_ALL_TARGETS"):
        pytest.skip("set EDGEMON_ALL_TARGETS=1, or run `make test-targets`")
    (tmp_path / "vectors.c").write_text(VECTORS)
    program_ = build(
        "arm-none-eabi-gcc", tmp_path, "-Os", "-mcpu=cortex-m4", "-mthumb", "--specs=rdimon.specs",
        str(tmp_path / "vectors.c"), "-Wl,--section-start=.vectors=0",
    )  # fmt: skip
    arguments = [*files(folder), "--rounds", "5", "--json"]
    spec = ",".join(["enable=on", "target=native", "arg=bench", *(f"arg={a}" for a in arguments)])
    found = json.loads(
        run(
            need("qemu-system-arm"), "-M", "mps2-an386", "-nographic", "-monitor", "none",
            "-serial", "none", "-semihosting-config", spec, "-kernel", program_,
        )
    )  # fmt: skip
    require_right(found)
    assert found["environment"]["kernels"] == "small"
    assert found["environment"]["clock_step_ns"] == 1e7
    assert found["monitors"][0]["passes"] > 100


@pytest.mark.parametrize("machine", ["cortex-m4", "clang"])
def test_builds_for_a_board_and_with_another_compiler(machine: str, tmp_path: Path) -> None:
    """The board's C library has clock() alone."""
    if machine == "clang":
        build("clang", tmp_path, "-O0")
    else:
        build("arm-none-eabi-gcc", tmp_path, "-Os", "-mcpu=cortex-m4", "--specs=rdimon.specs")


def test_the_small_form_says_so(folder: Path, tmp_path: Path) -> None:
    found = measured(build("gcc", tmp_path, "-O1", "-DEDGEMON_SMALL=1"), *files(folder))
    require_right(found)
    assert found["environment"]["kernels"] == "small"


def test_other_results_than_the_reference(bench: Path, folder: Path, tmp_path: Path) -> None:
    artifact = (folder / "monitor.emon").read_bytes()
    taps = Opened(artifact).taps
    (tmp_path / "t").write_bytes(targets.taps_file(taps, recorded(), [(artifact, 0xBAD)]))
    code, out, said = outcome(bench, folder / "monitor.emon", tmp_path / "t", "--json")
    assert code == 4
    assert "other results than the reference" in said
    assert json.loads(out)["monitors"][0]["as_reference"] is False
    (tmp_path / "t").write_bytes(targets.taps_file(taps, recorded(), []))
    code, out, _ = outcome(bench, folder / "monitor.emon", tmp_path / "t", "--json")
    assert code == 0
    assert json.loads(out)["monitors"][0]["as_reference"] is None


def outcome(*command: str | Path) -> tuple[int, str, str]:
    done = subprocess.run(
        [*map(str, command), "--rounds", "2"], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout, done.stderr


def sealed(data: bytearray) -> bytes:
    """With the checksum that it should have."""
    data[-4:] = struct.pack("<I", zlib.crc32(data[:-4]))
    return bytes(data)


def word(at: int, value: int) -> Callable[[bytearray], bytes]:
    def change(data: bytearray) -> bytes:
        data[at : at + 4] = struct.pack("<I", value)
        return sealed(data)

    return change


def flipped(data: bytearray) -> bytes:
    data[-20] ^= 1
    return bytes(data)


DAMAGED: dict[str, tuple[Callable[[bytearray], bytes], str]] = {
    "empty": (lambda _: b"", "not a file of recorded taps"),
    "another file": (lambda _: b"PK\x03\x04" * 20, "not a file of recorded taps"),
    "a text-mode copy": (lambda d: bytes(d).replace(b"\r\n", b"\n", 1), "text-mode copy"),
    "the head alone": (lambda d: bytes(d[:30]), "ends too early"),
    "cut": (lambda d: bytes(d[:-1]), "its size is not"),
    "longer": (lambda d: bytes(d) + b"\0", "its size is not"),
    "a flipped bit": (flipped, "checksum mismatch"),
    "another version": (word(8, 2), "another version"),
    "no rows": (word(12, 0), "no rows"),
    "rows beyond the file": (word(12, 0xFFFFFFFF), "its size is not"),
    "a row of another size": (word(16, 48), "its size is not"),
    "an endless row": (word(16, 0xFFFFFFFF), "its size is not"),
    "no taps": (word(20, 0), "impossible number of taps"),
    "too many taps": (word(20, 33), "impossible number of taps"),
    "one tap fewer": (word(20, 2), "its size is not"),
    "endless results": (word(24, 0xFFFFFFFF), "its size is not"),
    "endless names": (word(28, 0xFFFFFFF8), "its size is not"),
    "uneven names": (word(28, 15), "impossible number of taps or size of names"),
    "no such data type": (word(HEAD, 9), "data type, length or view"),
    "data type 0": (word(HEAD, 0), "data type, length or view"),
    "a tap of nothing": (word(HEAD + 4, 0), "data type, length or view"),
    "a tap beyond its row": (word(HEAD + 4, 0xFFFFFFFF), "do not make up a row"),
    "a shorter last tap": (word(HEAD + 2 * RECORD + 4, 1), "do not make up a row"),
    "no such view": (word(HEAD + 8, 2), "data type, length or view"),
    "a name elsewhere": (word(HEAD + 12, 0x10000), "the name of a tap"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_file_of_taps_gets_a_sentence(
    damage: str, bench: Path, folder: Path, tmp_path: Path
) -> None:
    change, expected = DAMAGED[damage]
    path = tmp_path / "taps.bin"
    path.write_bytes(change(bytearray((folder / "taps.bin").read_bytes())))
    code, out, said = outcome(bench, folder / "monitor.emon", path)
    assert (code, out) == (6, "")
    assert said.startswith(f"edgemon-bench: {path}: ")
    assert expected in said
    assert said.count("\n") == 1


def test_any_bytes_are_read_or_refused(bench: Path, folder: Path, tmp_path: Path) -> None:
    """Sealed with the right checksum, under sanitizers; head and records are hit most."""
    rng, right = np.random.default_rng(0), (folder / "taps.bin").read_bytes()
    path, codes = tmp_path / "taps.bin", set()
    for _ in range(100):
        data = bytearray(right)
        for at in rng.integers(8, 120, rng.integers(1, 4)):
            data[at] = rng.choice([0, 1, 2, 8, 127, 128, 255])
        path.write_bytes(sealed(data))
        code, _, said = outcome(bench, folder / "monitor.emon", path)
        assert code in (0, 4, 6, 7), said
        codes.add(code)
    assert {6, 7} <= codes


def test_a_name_without_end(bench: Path, folder: Path, tmp_path: Path) -> None:
    data = bytearray((folder / "taps.bin").read_bytes())
    rows = ROWS * (8 + 16 + 16) + 4
    data[-rows - 8 : -rows] = b"x" * 8
    start = len(data) - rows - struct.unpack_from("<I", data, 28)[0]
    assert data[start : start + 6] == b"codes\0"
    data[HEAD + 12 : HEAD + 16] = struct.pack("<I", len(data) - rows - 8 - start)
    (tmp_path / "t").write_bytes(sealed(data))
    code, _, said = outcome(bench, folder / "monitor.emon", tmp_path / "t")
    assert code == 6
    assert "the name of a tap" in said


def test_taps_of_another_artifact(bench: Path, folder: Path, tmp_path: Path) -> None:
    own, rows = Opened(artifact_of(program())).taps, recorded()
    path = tmp_path / "t"
    path.write_bytes(targets.taps_file(own[:2], rows[:2], []))
    code, _, said = outcome(bench, folder / "monitor.emon", path)
    assert (code, "its tap 2, x, was not recorded" in said) == (7, True)
    b = Builder([Tap("codes", "uint8", 6), *program().taps[1:]])
    b.node("max", 0)
    other = artifact_of(b.program(b.node("argmax", 0), [Monitor("m", 3, 1, 0)]))
    only = Opened(other).taps
    path.write_bytes(targets.taps_file([only[0], *own[1:]], [np.zeros((ROWS, 6), np.uint8),
                                                             *rows[1:]], []))  # fmt: skip
    code, _, said = outcome(bench, folder / "monitor.emon", path)
    assert code == 7
    assert "its tap 0, codes, was recorded as 6 u8, and it wants 5 i8" in said


def test_a_damaged_artifact(bench: Path, folder: Path, tmp_path: Path) -> None:
    data = bytearray((folder / "monitor.emon").read_bytes())
    data[-1] ^= 1
    (tmp_path / "m.emon").write_bytes(data)
    code, out, said = outcome(bench, tmp_path / "m.emon", folder / "taps.bin")
    assert (code, out) == (5, "")
    assert "m.emon: " in said


@pytest.mark.parametrize(
    ("arguments", "code", "expected"),
    [
        ((), 2, "usage: "),
        (("monitor.emon",), 2, "usage: "),
        (("monitor.emon", "taps.bin", "--quick"), 2, "--quick: unknown"),
        (("monitor.emon", "taps.bin", "--rounds"), 2, "--rounds: give a number"),
        (("monitor.emon", "taps.bin", "--rounds", "0"), 2, "--rounds: give a number"),
        (("monitor.emon", "taps.bin", "--rounds", "3x"), 2, "--rounds: give a number"),
        (("monitor.emon", "nowhere.bin"), 3, "nowhere.bin: cannot be read"),
        (("nowhere.emon", "taps.bin"), 3, "nowhere.emon: cannot be read"),
        (("taps.bin", "monitor.emon"), 6, "monitor.emon: not a file of recorded taps"),
    ],
)
def test_wrong_arguments(
    arguments: tuple[str, ...], code: int, expected: str, bench: Path, folder: Path
) -> None:
    done = subprocess.run(
        [bench, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (code, "")
    assert expected in done.stderr
    assert done.stderr.count("\n") == 1


def test_cmake_builds_and_installs_it(folder: Path, tmp_path: Path) -> None:
    cmake = need("cmake")
    run(cmake, "-S", RUNTIME, "-B", tmp_path / "b", "-DEDGEMON_BUILD_BENCH=ON")
    run(cmake, "--build", tmp_path / "b")
    run(cmake, "--install", tmp_path / "b", "--prefix", tmp_path / "prefix")
    require_right(measured(tmp_path / "prefix" / "bin" / "edgemon-bench", *files(folder)))
