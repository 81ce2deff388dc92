"""A new op, made from docs/extending.md in a copy of the sources: which files it touches, that it
is proven as the others are, and that what is left out is named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

from edgemon.runtime import _native
from tests.conftest import ROOT
from tests.runtime.c_compilers import need, run

COPIED = ("compiler", "runtime", "targets", "bench", "tests", "docs")
CASES = "tests/compiler/program/test_special_values.py"
OF_ALL_OPS = ("tests/compiler/program/ops/test_table.py", f"{CASES}::test_every_op_has_a_case")


def changes() -> list[tuple[str, str, str]]:
    """File, old and new text of each change that the page makes."""
    page = (ROOT / "docs" / "extending.md").read_text().partition("\n## An op\n")[2]
    page = re.sub(r"^   ", "", page, flags=re.MULTILINE)  # blocks belong to steps of a list
    found, path = [], ""
    for named, block in re.findall(r"In `([^`]+)`|```diff\n(.*?)\n```", page, re.DOTALL):
        path = named or path
        if block:
            lines = [line or " " for line in block.split("\n")]
            old, new = ("\n".join(x[1:] for x in lines if x[0] in kept) for kept in (" -", " +"))
            found.append((path, old, new))
    return found


def copy_with(made: list[tuple[str, str, str]], folder: Path) -> Path:
    """The sources with these changes."""
    for name in COPIED:
        ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        (folder / "path" / "edgemon").mkdir(parents=True, exist_ok=True)
        (folder / "path" / "edgemon" / name).symlink_to(folder / name)
    for file in (folder / "compiler" / "edgemon").iterdir():  # its root, or the installed one wins
        (folder / "path" / "edgemon" / file.name).symlink_to(file)
    for path, old, new in made:
        text = (folder / path).read_text()
        assert text.count(old) == 1, f"docs/extending.md: {path} does not have {old!r} once"
        (folder / path).write_text(text.replace(old, new))
    return folder


def run_tests(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Tests of the copy, with its own edgemon."""
    paths = os.pathsep.join([str(folder / "path"), str(folder)])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(
        [*command, *arguments], cwd=folder, env=os.environ | {"PYTHONPATH": paths},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def build(folder: Path) -> None:
    """The copy's extension."""
    include = sysconfig.get_path("include")
    if not (Path(include) / "Python.h").exists():
        pytest.skip(f"{include} has no Python.h")
    c = folder / "runtime" / "c"
    sources = [*(folder / "runtime" / "binding").glob("*.c"), *(c / "src").glob("*.c")]
    run(
        need("gcc"), "-std=c11", "-O1", "-shared", "-fPIC", "-ffp-contract=off",
        "-DPy_LIMITED_API=0x030B0000", f"-I{c / 'include'}", f"-I{c / 'src'}", f"-I{include}",
        *sources, "-o", folder / "runtime" / "_native.abi3.so",
    )  # fmt: skip


def test_a_new_op_touches_at_most_seven_files(tmp_path: Path) -> None:
    made = changes()
    touched = sorted({path for path, _, _ in made})
    print("\n".join(touched))
    assert len(touched) <= 7, touched
    assert len(made) > len(touched)
    copy = copy_with(made, tmp_path)
    build(copy)
    parity = [CASES, "tests/runtime/test_work.py", "-k", "absolute"]
    for arguments, least in ((parity, 3), (OF_ALL_OPS, 30)):
        done = run_tests(copy, *arguments)
        assert done.returncode == 0, done.stdout + done.stderr
        passed = re.search(r"(\d+) passed", done.stdout)
        assert passed is not None
        assert int(passed[1]) >= least


@pytest.mark.parametrize(
    ("kept", "said"),
    [
        (
            lambda path, _: path.startswith("compiler/"),
            [
                "not in em_op_list.h",
                "FORMAT.md, section 7: no row for {'absolute'}",
                "no parity case in tests/compiler/op_cases.py: {'absolute'}",
            ],
        ),
        (
            lambda path, _: not path.startswith(("compiler/", "tests/")),
            ["in em_op_list.h, but not in a family's OPS"],
        ),
        (
            lambda _, new: "| as a number | +infinity |" not in new,
            ["FORMAT.md, section 7.10: no row for {'absolute'}"],
        ),
    ],
    ids=["only-in-python", "only-in-c", "no-word-of-a-nan"],
)
def test_what_is_left_out_is_named(
    kept: Callable[[str, str], bool], said: list[str], tmp_path: Path
) -> None:
    copy = copy_with([c for c in changes() if kept(c[0], c[2])], tmp_path)
    shutil.copy(str(_native.__file__), copy / "runtime")
    done = run_tests(copy, *OF_ALL_OPS)
    assert done.returncode == 1, done.stderr
    for sentence in said:
        assert sentence in done.stdout
    assert len(re.findall(r"^FAILED", done.stdout, re.MULTILINE)) >= len(said)
