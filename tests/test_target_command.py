"""``edgemon target`` as a user types it: lists, results, budgets, and sentences for mistakes."""

from __future__ import annotations

import json
import platform
import shutil
from pathlib import Path

import pytest

from edgemon import targets
from edgemon.targets.emulator import BOARDS
from tests.command_line import DATA, bench_of, document, edgemon, refused
from tests.runtime.c_compilers import C_FLAGS, PRIVATE, SOURCES, C, need, run

OWN = """
description = "this very machine"
architecture = "{machine}"
kernels = "builtin"

[toolchain]
cc = "gcc"
cflags = ["-std=c11", "-Os", "-ffp-contract=off"]
size = "size"
link = ["-static"]

[emulator]
command = ["qemu-{machine}"]
sources = ["{source}"]
"""


def own_target(folder: Path, source: str = "system.c", text: str = OWN) -> Path:
    """A profile of one's own, of this machine."""
    need("gcc")
    path = folder / "mine.toml"
    path.write_text(text.format(machine=platform.machine(), source=source))
    return path


def test_list_says_what_is_there() -> None:
    found = {t["name"]: t for t in document("target", "list")}
    assert set(found) == set(targets.names())
    for name, line in found.items():
        target = targets.load(name)
        assert line["toolchain"] == (target.cc if shutil.which(target.cc) else None)
        assert bool(line["install"]) == (line["toolchain"] is None or line["emulator"] is None)
    text = edgemon("target", "list").stdout
    assert "cortex-m4f" in text
    assert "this machine" in text


def test_list_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (line,) = (t for t in document("target", "list") if t["name"] == "cortex-m4f")
    assert (line["toolchain"], line["emulator"]) == (None, None)
    assert line["install"] == [
        "gcc-arm-none-eabi", "libnewlib-arm-none-eabi", "qemu-system-arm",
    ]  # fmt: skip
    assert "apt-get install gcc-arm-none-eabi" in edgemon("target", "list").stdout


CYCLES = '\n[cycles]\nleast = 1\nmost = 4\nmegahertz = 25\nsource = "its maker"\n'


def test_cycles_are_a_model_and_are_called_one(digits_bundle: Path, tmp_path: Path) -> None:
    own = own_target(tmp_path, text=OWN + CYCLES)
    found = document("target", "check", own, digits_bundle)
    if found["instructions"] is None:
        pytest.skip(f"no instructions are counted here: {found['not_counted']}")
    most = found["instructions"]["most"]
    assert found["cycles"] == {
        "least": most, "most": 4 * most, "least_us": most / 25, "most_us": 4 * most / 25,
        "megahertz": 25, "source": "its maker",
    }  # fmt: skip
    assert 0 < found["worst_case"]["operations"] < most
    text = " ".join(edgemon("target", "check", own, digits_bundle).stdout.split())
    assert f"cycles by a model, not measured: {most:,} to {4 * most:,}" in text
    bare = own_target(tmp_path)
    assert document("target", "check", bare, digits_bundle)["cycles"] is None
    text = " ".join(edgemon("target", "table", digits_bundle, "--targets", bare).stdout.split())
    assert "no model of cycles is stated in the profile of mine" in text


def test_check_without_the_toolchain_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, bundle: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "apt-get install gcc-arm-none-eabi" in refused("target", "check", "cortex-m4f", bundle)


def test_check_of_the_self_test_and_of_rows(digits_bundle: Path, tmp_path: Path) -> None:
    own = own_target(tmp_path)
    alone = document("target", "check", own, digits_bundle)
    assert alone["mismatches"] == 0
    assert alone["refused"] is None
    assert 1 <= alone["rows"] <= 64
    rows = document("target", "check", own, digits_bundle, "--data", f"{DATA}[0:40]")
    assert (rows["target"], rows["rows"], rows["mismatches"]) == ("mine", 40, 0)
    assert rows["emulator"] == "this machine"
    size = rows["bytes"]
    assert size["artifact"] == (digits_bundle / "monitor.emon").stat().st_size
    assert size["flash"] == size["artifact"] + size["code"] + size["read_only"]
    assert size["ram"] == size["workspace"] + size["structs"] + size["stack"]
    assert size["stack"] == max(rows["stack_by_function"].values())
    again = document("target", "check", own, digits_bundle, "--data", f"{DATA}[0:40]")
    assert again == rows
    if rows["instructions"] is None:
        assert rows["not_counted"].endswith("is not installed, which counts them")
    else:
        assert rows["instructions"]["least"] > 100


def test_check_for_people(digits_bundle: Path, tmp_path: Path) -> None:
    text = edgemon("target", "check", own_target(tmp_path), digits_bundle).stdout
    assert "mine: this very machine; ran on this machine" in text
    assert "0 of " in text
    assert "rows differ from the reference; results" in text
    assert "deepest stack, by the call graph: em_" in text


def test_a_budget_that_is_missed_gives_3(bundle: Path, tmp_path: Path) -> None:
    own = own_target(tmp_path)
    kept = edgemon("target", "check", own, bundle, "--budget", "stack_bytes=9000,code_bytes=1e6")
    assert kept.exit_code == 0
    said = refused(
        "target", "check", own, bundle, "--budget", "stack_bytes=9000,code_bytes=9", code=3
    )
    assert "budget missed: code_bytes on mine is" in said
    assert "over 9" in said
    assert "stack_bytes" not in said


MISTAKES = {
    "an unknown target": (("toaster",), "target toaster: unknown; there are aarch64"),
    "no such file": (("nowhere.toml",), "cannot be read"),
    "an unknown budget": (("s390x", "--budget", "stack=3"), "unknown budget 'stack'"),
    "no number": (("s390x", "--budget", "code_bytes=few"), "'few' is not a number"),
    "a negative limit": (("s390x", "--budget", "code_bytes=-1"), "must be 0 or more"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_get_a_sentence(mistake: str, bundle: Path) -> None:
    (name, *options), said = MISTAKES[mistake]
    assert said in refused("target", "check", name, bundle, *options)


def test_no_bundle(tmp_path: Path) -> None:
    assert "not an edgemon bundle" in refused("target", "check", "s390x", tmp_path)


def test_a_profile_without_an_emulator_says_so(bundle: Path, tmp_path: Path) -> None:
    own = own_target(tmp_path, text=OWN.partition("[emulator]")[0])
    assert "its profile has no [emulator]" in refused("target", "check", own, bundle)


def test_the_other_byte_order_has_to_be_refused(bundle: Path, tmp_path: Path) -> None:
    own = own_target(tmp_path, text="big_endian = true\n" + OWN)
    said = refused("target", "check", own, bundle, code=4)
    assert "mine: opens an artifact of the other byte order" in said
    need("s390x-linux-gnu-gcc")
    need("qemu-s390x")
    result = edgemon("target", "check", "s390x", bundle)
    assert result.exit_code == 0
    assert "the artifact is refused: the artifact's byte order is not this" in result.stdout


def changed_board(folder: Path, old: str, new: str) -> Path:
    """A target whose input and output do something else."""
    text = (BOARDS / "system.c").read_text()
    assert old in text
    (folder / "mine.c").write_text("#include <string.h>\n" + text.replace(old, new))
    return own_target(folder, "mine.c")


def test_a_result_that_differs_gives_4(bundle: Path, tmp_path: Path) -> None:
    """A line's last digit is another: the lowest bits of the last score of each row."""
    own = changed_board(
        tmp_path, "fputs(text, stdout)",
        'fputs(strlen(text) > 3 && strspn(text, "0123456789abcdef") == strlen(text) ? "7" : text, '
        "stdout)",
    )  # fmt: skip
    said = refused("target", "check", own, bundle, code=4)
    assert "rows differ between the reference and the target: row 0: verdict" in said


def test_a_build_that_em_open_refuses_gives_4(bundle: Path, tmp_path: Path) -> None:
    fused = "-ffp-contract=fast" + ('", "-mfma' if platform.machine() == "x86_64" else "")
    own = own_target(tmp_path, text=OWN.replace("-ffp-contract=off", fused))
    said = refused("target", "check", own, bundle, code=4)
    assert "em_open refuses the artifact: this build or processor rounds" in said


def test_a_program_that_stops_halfway(bundle: Path, tmp_path: Path) -> None:
    own = changed_board(tmp_path, "fputs(text, stdout)", 'if (strstr(text, "end")) exit(3)')
    said = refused("target", "check", own, bundle)
    assert "the program did not come to its end (exit code 3)" in said


def test_a_program_that_prints_something_else(bundle: Path, tmp_path: Path) -> None:
    own = changed_board(
        tmp_path, "fputs(text, stdout)",
        'fputs(strncmp(text, "row ", 4) == 0 ? "row x" : text, stdout)',
    )  # fmt: skip
    assert "is not what the harness prints" in refused("target", "check", own, bundle)


def test_a_program_that_leaves_rows_out(bundle: Path, tmp_path: Path) -> None:
    own = changed_board(tmp_path, "return file != NULL", "static int n; return n++ < 1")
    said = refused("target", "check", own, bundle, code=4)
    assert "1 results of" in said


def test_an_artifact_that_fits_no_board(digits_bundle: Path, tmp_path: Path) -> None:
    need("arm-none-eabi-gcc")
    need("qemu-system-arm")
    (tmp_path / "small.ld").write_text(
        "STACK = 512;\nMEMORY\n{\n    FLASH (rx) : ORIGIN = 0, LENGTH = 8K\n"
        "    RAM (rwx) : ORIGIN = 0x20000000, LENGTH = 2K\n}\nINCLUDE cortex_m.ld\n"
    )
    text = (BOARDS.parent / "profiles" / "cortex-m4f.toml").read_text()
    own = tmp_path / "small.toml"
    own.write_text(text.replace("mps2.ld", "small.ld"))
    said = refused("target", "check", own, digits_bundle)
    assert "do not fit into the memory of QEMU, board mps2-an386" in said


@pytest.mark.parametrize("name", ["cortex-m4f", "aarch64"])
def test_check_of_an_emulated_target(name: str, bundle: Path) -> None:
    target = targets.load(name)
    need(target.cc)
    need(target.emulators[0].command[0])
    found = document("target", "check", name, bundle)
    assert found["mismatches"] == 0
    assert found["instructions"]["least"] > 100
    assert found["stack_seen"]["em_evaluate"] > 100
    assert (found["bytes"]["library"] > 0) == (name == "cortex-m4f")


def test_a_table_of_the_runtime_alone(tmp_path: Path) -> None:
    own = own_target(tmp_path)
    found = document("target", "table", "--targets", own)
    assert set(found["all_ops"]) == {str(own)}
    assert found["all_ops"][str(own)]["code"] > 8000
    text = edgemon("target", "table", "--targets", own, "--markdown").stdout
    assert "| em_self_test |" in text.replace("  ", " ")


def test_a_table_warns_of_what_is_missing(tmp_path: Path) -> None:
    own = own_target(tmp_path, text=OWN.replace('cc = "gcc"', 'cc = "no-such-gcc"'))
    result = edgemon("target", "table", "--targets", own)
    assert result.exit_code == 0
    assert "'no-such-gcc' is not installed" in result.stderr


def test_a_table_of_a_bundle_and_of_its_monitors(digits_bundle: Path) -> None:
    target = targets.load("aarch64")
    need(target.cc)
    need(target.emulators[0].command[0])
    command = ("target", "table", digits_bundle, "--targets", "aarch64", "--monitors", "aarch64")
    found = document(*command)
    assert [m["name"] for m in found["monitors"]] == ["softmax", "box", "prophecy"]
    whole = found["artifact"]["aarch64"]["instructions"]["most"]
    for monitor in found["monitors"]:
        assert 100 < monitor["instructions"]["aarch64"] < whole
    assert found["model_macs"] == 702_208
    assert document(*command) == found
    text = edgemon(*command, "--instructions-a-mac", "2").stdout
    assert "The model: 702,208 multiply-accumulates, each taken as 2 instructions" in text
    share = found["monitors"][0]["instructions"]["aarch64"] / (2 * 702_208)
    assert f"{share:.2%}" in text


def test_a_table_of_rows_needs_a_bundle() -> None:
    assert "are of a bundle" in refused("target", "table", "--data", DATA)


def test_taps_for_a_device_give_the_reference_there(digits_bundle: Path, tmp_path: Path) -> None:
    """Written, run by edgemon-bench, and the same rows as `bench` takes."""
    folder = tmp_path / "new" / "taps"
    said = edgemon("target", "taps", digits_bundle, "--data", f"{DATA}[0:40]", "--out", folder)
    assert said.exit_code == 0, said.stderr
    text = " ".join(said.stdout.split())
    assert "taps.bin (40 rows, " in text
    names = ["monitor.emon", "1-softmax.emon", "2-box.emon", "3-prophecy.emon"]
    assert f"edgemon-bench {' '.join(names)} taps.bin" in text
    assert sorted(p.name for p in folder.iterdir()) == sorted([*names, "taps.bin"])
    assert (folder / "monitor.emon").read_bytes() == (digits_bundle / "monitor.emon").read_bytes()
    program = tmp_path / "edgemon-bench"
    run(need("gcc"), *C_FLAGS, PRIVATE, "-O1", *(C / "bench").glob("*.c"), *SOURCES, "-o", program)
    paths = [folder / name for name in (*names, "taps.bin")]
    found = json.loads(run(program, *paths, "--rounds", "2", "--json"))
    assert [m["name"] for m in found["monitors"]] == ["all", "softmax", "box", "prophecy"]
    assert all(m["as_reference"] for m in found["monitors"])
    assert found["rows"] == 40
    timed = document(*bench_of(digits_bundle, 40, 2))
    assert timed["crc32"]["taps"] == found["crc32"]["taps"]
    assert {m["name"] for m in timed["monitors"]} == {m["name"] for m in found["monitors"]}
    lines = {m["name"]: m for m in timed["monitors"]}
    for line in found["monitors"]:
        assert {"c_ns", "c_ns_distribution"} <= line.keys() & lines[line["name"]].keys()


def test_taps_of_the_self_test_and_no_more_than_asked_for(bundle: Path, tmp_path: Path) -> None:
    said = edgemon("target", "taps", bundle, "--out", tmp_path / "t", "--rows", "1")
    assert said.exit_code == 0, said.stderr
    assert "taps.bin (1 rows, of " in " ".join(said.stdout.split())
    assert "exists; choose another --out" in refused(
        "target", "taps", bundle, "--out", tmp_path / "t"
    )
    (tmp_path / "file").write_text("")
    assert "cannot write there" in refused(
        "target", "taps", bundle, "--out", tmp_path / "file" / "t"
    )
