"""``edgemon-bench``, the C program: its figures, and its results beside the reference's."""

from __future__ import annotations

import json
import os
import re
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from edgemon import targets
from edgemon.compiler.program import reference
from edgemon.runtime.monitor import Monitor as Opened
from tests.runtime.bench_program import (
    ROWS,
    artifact_of,
    build,
    files,
    outcome,
    program,
    recorded,
    write,
)  # fmt: skip
from tests.runtime.c_compilers import CROSS, RUNTIME, need, run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("taps"))


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build("gcc", tmp_path_factory.mktemp("native"), "-O1")


def measured(*command: str | Path) -> Any:
    return json.loads(run(*command, "--rounds", "5", "--json"))


def api_version() -> int:
    """As the header that the program was built with states it."""
    header = (RUNTIME / "c" / "include" / "edgemon" / "edgemon.h").read_text()
    return int(re.findall(r"^#define EM_API_VERSION (\d+)$", header, re.MULTILINE)[0])


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
    assert found["environment"]["api_version"] == api_version()


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
    assert found["environment"]["clock_step_ns"] >= 1e7
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


def test_cmake_builds_and_installs_it(folder: Path, tmp_path: Path) -> None:
    cmake = need("cmake")
    run(cmake, "-S", RUNTIME, "-B", tmp_path / "b", "-DEDGEMON_BUILD_BENCH=ON")
    run(cmake, "--build", tmp_path / "b")
    run(cmake, "--install", tmp_path / "b", "--prefix", tmp_path / "prefix")
    require_right(measured(tmp_path / "prefix" / "bin" / "edgemon-bench", *files(folder)))
