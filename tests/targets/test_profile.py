"""Target profiles: those that ship, those of users, and sentences for mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemon import targets
from edgemon.targets import PARTS, Budget, OpTimes, TargetError

PROFILE = """
description = "a board"
architecture = "armv8"
kernels = "reference"

[toolchain]
cc = "cc"
cflags = ["-O2"]
size = "size"
"""
TIMES = "\n[nanoseconds]\n" + "\n".join(f"{key} = 1.5" for key in PARTS)


def written(folder: Path, text: str) -> str:
    path = folder / "board.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.parametrize("name", targets.names())
def test_profiles_that_ship(name: str) -> None:
    """Times are of machines that somebody measured; the others are emulated, which has no times."""
    target = targets.load(name)
    assert target.name == name
    if name.startswith("host"):
        assert target.times is not None
        assert target.times.nanoseconds.keys() == PARTS.keys()
    else:
        assert target.times is None
    assert target.budget == Budget()  # what a monitor may take is the user's to say
    assert target.packages
    assert target.emulators
    assert all(e.packages and e.description for e in target.emulators)
    assert target.big_endian == (name == "s390x")


def test_an_emulator_of_ones_own(tmp_path: Path) -> None:
    (tmp_path / "uart.c").write_text("")
    (tmp_path / "board.ld").write_text("")
    table = """
[emulator]
command = ["my-emulator", "-run"]
sources = ["uart.c", "cortex_m.c"]
script = "board.ld"
"""
    (emulator,) = targets.load(written(tmp_path, PROFILE + table)).emulators
    assert emulator.command == ("my-emulator", "-run")
    assert emulator.description == "my-emulator"
    assert emulator.script == tmp_path / "board.ld"
    assert [s.parent.name for s in emulator.sources] == [tmp_path.name, "boards"]
    several = PROFILE + table.replace("[emulator]", "[[emulator]]") * 2
    assert len(targets.load(written(tmp_path, several)).emulators) == 2


def test_nm_is_named_as_size_is(tmp_path: Path) -> None:
    cross = PROFILE.replace('size = "size"', 'size = "arm-none-eabi-size"')
    assert targets.load(written(tmp_path, cross)).nm == "arm-none-eabi-nm"
    assert targets.load(written(tmp_path, cross + 'nm = "gnm"\n')).nm == "gnm"


def test_a_profile_of_ones_own(tmp_path: Path) -> None:
    bare = targets.load(written(tmp_path, PROFILE))
    assert (bare.name, bare.kernels, bare.cflags) == ("board", "reference", ("-O2",))
    assert (bare.times, bare.budget) == (None, Budget())
    budget = "\n[budget]\nkilobytes = 16\nmicroseconds = 2.5\n"
    full = targets.load(written(tmp_path, PROFILE + budget + TIMES))
    assert full.budget == Budget(16, 2.5)
    assert full.times == OpTimes(dict.fromkeys(PARTS, 1.5))


def test_cycles_by_a_stated_model(tmp_path: Path) -> None:
    table = '\n[cycles]\nleast = 0.5\nmost = 4\nmegahertz = 25\nsource = "its maker"\n'
    model = targets.load(written(tmp_path, PROFILE + table)).cycles
    assert model is not None
    assert model.of(1000) == (500, 4000)
    assert model.microseconds(1000) == (20, 160)
    open_ended = targets.load(written(tmp_path, PROFILE + table.replace("most = 4", ""))).cycles
    assert open_ended is not None
    assert open_ended.of(1000) == (500, None)
    assert open_ended.microseconds(1000) == (20, None)


def test_only_cores_whose_maker_states_cycles_have_a_model() -> None:
    stated = {name for name in targets.names() if targets.load(name).cycles is not None}
    assert stated == {"cortex-m0plus", "cortex-m4f", "cortex-m7"}
    m7 = targets.load("cortex-m7").cycles
    assert m7 is not None
    assert m7.most is None  # Arm states no cycles of its instructions


MISTAKES = {
    "no file": ("", "cannot be read"),
    "no TOML": ("=", "is not TOML"),
    "no toolchain": (PROFILE.partition("[")[0], "the table [toolchain] is missing"),
    "no compiler": (PROFILE.replace('cc = "cc"', ""), "[toolchain]: cc = None: give a text"),
    "flags as text": (PROFILE.replace('["-O2"]', '"-O2"'), "cflags = '-O2': give a list of texts"),
    "unknown kernels": (PROFILE.replace("reference", "fast"), "use xnnpack, builtin, reference"),
    "unknown field": ("colour = 1" + PROFILE, "unknown 'colour'; there are description"),
    "a part is missing": (PROFILE + TIMES.replace("node", "nod"), "unknown 'nod'; paste what"),
    "too few parts": (PROFILE + "\n[nanoseconds]\nnode = 1", "'evaluation' is missing; paste"),
    "a negative time": (PROFILE + TIMES.replace("= 1.5", "= -1", 1), "evaluation = -1: give a"),
    "no time": (PROFILE + TIMES.replace("= 1.5", "= nan", 1), "evaluation = nan: give a number"),
    "a word": (PROFILE + TIMES.replace("= 1.5", '= "1"', 1), "evaluation = '1': give a number"),
    "no table": ("nanoseconds = 3" + PROFILE, "nanoseconds must be a table"),
    "a budget of nothing": (PROFILE + "\n[budget]\nkilobytes = 0", "give a number above 0"),
    "a budget below what any may be": (
        PROFILE + "\n[budget]\nkilobytes = 0.05",
        "[budget] kilobytes = 0.05 must lie between 0.1 and 4096",
    ),
    "a budget above what any may be": (
        PROFILE + "\n[budget]\nmicroseconds = 2e6" + TIMES,
        "[budget] microseconds = 2000000.0 must lie between 0 and 1000000",
    ),
    "an unknown budget": (PROFILE + "\n[budget]\nkb = 3", "[budget]: unknown 'kb'"),
    "an emulator as text": ('emulator = "qemu"' + PROFILE, "emulator must be a table"),
    "an emulator without a command": (PROFILE + "\n[emulator]", "name the program that runs"),
    "an unknown word of an emulator": (
        PROFILE + '\n[emulator]\ncommand = ["q"]\nbord = "x"',
        "unknown 'bord'; there are command",
    ),
    "a source that is nowhere": (
        PROFILE + '\n[emulator]\ncommand = ["q"]\nsources = ["start.c"]',
        "start.c: no such file, neither beside the profile nor among edgemon's own (cortex_m.c",
    ),
    "a script that is no name": (
        PROFILE + '\n[emulator]\ncommand = ["q"]\nscript = 3',
        "script = 3: give the name of a linker script",
    ),
    "a byte order in words": ('big_endian = "yes"' + PROFILE, "big_endian = 'yes': give true"),
    "packages as text": (PROFILE + 'packages = "gcc"', "packages = 'gcc': give a list of texts"),
    "cycles as a number": ("cycles = 3" + PROFILE, "[cycles]: must be a table with least, most"),
    "cycles from nobody": (
        PROFILE + "\n[cycles]\nleast = 1\nmegahertz = 8",
        "[cycles] source = None: say who states these figures",
    ),
    "cycles without a clock": (
        PROFILE + '\n[cycles]\nleast = 1\nsource = "me"',
        "[cycles] megahertz = None: give a number above 0",
    ),
    "fewer cycles at most than at least": (
        PROFILE + '\n[cycles]\nleast = 2\nmost = 1\nmegahertz = 8\nsource = "me"',
        "[cycles] most = 1 is below least = 2",
    ),
    "an unknown word of cycles": (PROFILE + "\n[cycles]\nmhz = 8", "[cycles]: unknown 'mhz'"),
    "microseconds that cannot be estimated": (
        PROFILE + "\n[budget]\nmicroseconds = 3",
        "microseconds needs [nanoseconds]: measure them",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_a_profile_are_named(mistake: str, tmp_path: Path) -> None:
    text, message = MISTAKES[mistake]
    path = written(tmp_path, text) if text else str(tmp_path / "nowhere.toml")
    with pytest.raises(TargetError) as found:
        targets.load(path)
    assert message in str(found.value)
    assert path in str(found.value)


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(
        TargetError, match=r"there are aarch64, .*host-x86_64, .* a file that ends in .toml"
    ):
        targets.load("toaster")
