"""``edgemon-bench``, the C program: what it says to files that are not as it wants them."""

from __future__ import annotations

import struct
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from edgemon import targets
from edgemon.compiler.program.ir import Builder, Monitor, Tap
from edgemon.runtime.monitor import Monitor as Opened
from tests.runtime.bench_program import (
    ROWS,
    artifact_of,
    build,
    outcome,
    program,
    recorded,
    write,
)  # fmt: skip
from tests.runtime.c_compilers import SANITIZERS

HEAD, RECORD = 32, 16  # of the taps file


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("taps"))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """With sanitizers; that the program keeps its memory to its end is no leak."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASAN_OPTIONS", "detect_leaks=0")
        yield build("gcc", tmp_path_factory.mktemp("native"), "-O0", *SANITIZERS)


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
    "no such view": (word(HEAD + 8, 4), "data type, length or view"),
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
