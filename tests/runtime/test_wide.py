"""Kernels that exist twice on x86-64, for AVX2 and for any processor, have the same bits."""

from __future__ import annotations

import platform
import re
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

from tests.runtime.c_compilers import C_FLAGS, HERE, PRIVATE, SOURCES, need, run

CPU = Path("/proc/cpuinfo")
COMPILERS = ["gcc", "clang"]
OFF = "-DEDGEMON_WIDE=0"
TWICE = {"affine_short", "affine_long", "affine_ints", "deviation_lanes", "distances_short",
         "distances_long", "kernels_short", "kernels_long", "reduce_groups"}  # fmt: skip

pytestmark = [
    pytest.mark.xdist_group("wide"),
    pytest.mark.skipif(
        platform.machine() != "x86_64", reason="kernels exist twice on x86-64 alone"
    ),
]


Build = Callable[..., Path]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The program of wide.c, by compiler and flags; each is compiled once."""
    folder = tmp_path_factory.mktemp("wide")

    @cache
    def build(compiler: str, *flags: str) -> Path:
        program = folder / "_".join([compiler, *flags])
        wide = HERE / "wide.c"
        run(need(compiler), *C_FLAGS, PRIVATE, "-O3", *flags, wide, *SOURCES, "-lm", "-o", program)
        return program

    return build


def functions(program: Path) -> dict[str, str]:
    """The disassembly of each function, by its name without what a compiler adds (.constprop.0)."""
    text = run(need("objdump"), "-d", "--no-show-raw-insn", program)
    parts = re.split(r"^[0-9a-f]+ <([^>]+)>:$", text, flags=re.MULTILINE)
    return {name.split(".")[0]: body for name, body in zip(parts[1::2], parts[2::2], strict=True)}


@pytest.mark.parametrize("compiler", COMPILERS)
def test_both_have_the_same_bits(compiler: str, built: Build) -> None:
    if not CPU.exists() or "avx2" not in CPU.read_text().split():
        pytest.skip("this processor has no AVX2")
    narrow = run(built(compiler, OFF)).splitlines()
    wide = run(built(compiler)).splitlines()
    assert len(narrow) > 8000
    assert wide == narrow


@pytest.mark.parametrize("compiler", COMPILERS)
def test_only_the_wide_ones_are_of_avx2_and_none_is_fused(compiler: str, built: Build) -> None:
    found = functions(built(compiler))
    of_avx2 = {name for name, body in found.items() if "%ymm" in body}
    runtime = {name for name in of_avx2 if not name.startswith("_")}  # not the C library's
    assert runtime == {f"{name}_wide" for name in TWICE}
    assert not [name for name, body in found.items() if re.search(r"\bvfn?m(add|sub)", body)]


@pytest.mark.parametrize("flags", [[OFF], ["-DEDGEMON_SMALL=1"], ["-mavx2"]], ids=str)
def test_what_is_built_for_one_processor_has_no_choice(flags: list[str], built: Build) -> None:
    found = functions(built("gcc", *flags))
    assert not [name for name in found if name.endswith("_wide")]
    assert any("%ymm" in body for body in found.values()) == ("-mavx2" in flags)


def test_static_linking_knows_the_processor(built: Build) -> None:
    """Without an ifunc: also with musl, where it is installed."""
    expected = run(built("gcc")).splitlines()
    for compiler in filter(shutil.which, ("gcc", "musl-gcc")):
        assert run(built(compiler, "-static")).splitlines() == expected
