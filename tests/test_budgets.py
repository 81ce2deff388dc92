"""``--budgets FILE`` of ``bench`` and ``target check``: codes, JUnit, annotations, what helps."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from junitparser import Failure, JUnitXml, Skipped

from tests.command_line import bench_of, document, edgemon, refused
from tests.test_target_command import own_target


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where mine.toml is a target, of this machine."""
    own_target(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["flash_bytes", "instructions"])
def test_one_too_many_is_a_failure_everywhere(name: str, digits_bundle: Path, folder: Path) -> None:
    found = document("target", "check", "mine.toml", digits_bundle)
    if name == "instructions" and found["instructions"] is None:
        pytest.skip(f"no instructions are counted here: {found['not_counted']}")
    taken = found["bytes"]["flash"] if name == "flash_bytes" else found["instructions"]["most"]
    stated = folder / "budgets.toml"
    files = ("--budgets", stated, "--junit", "found.xml", "--annotations", "found.txt")
    stated.write_text(f'[bench]\noverhead = 99\n\n[target."mine.toml"]\n{name} = {taken}\n')
    common = ("target", "check", "mine.toml", digits_bundle, *files)
    kept = edgemon(*common)
    assert (kept.exit_code, (folder / "found.txt").read_text()) == (0, "")
    assert "not checked here: bench" in kept.stdout
    stated.write_text(f'[target."mine.toml"]\n{name} = {taken - 1}\n')
    said = refused(*common, code=3)
    assert f"{name} on mine.toml is {taken:,}, over {taken - 1:,}" in said
    ElementTree.parse(folder / "found.xml")
    (suite,) = JUnitXml.fromfile("found.xml")
    (case,) = suite
    assert isinstance(case.result[0], Failure)
    assert (suite.tests, suite.failures) == (1, 1)
    (line,) = (folder / "found.txt").read_text().splitlines()
    assert line.startswith(f"::error file={str(stated).replace(':', '%3A')},line=2,title=budget ")
    if name == "flash_bytes":
        assert "What would help: " in line


def test_bench_holds_everything_against_a_file(digits_bundle: Path, folder: Path) -> None:
    stated = folder / "budgets.toml"
    stated.write_text(
        "[bench]\noverhead = 999\nmonitor_ns = 0\n[bench.monitor.box]\nmonitor_ns = 1e9\n"
        '[target."mine.toml"]\nstack_bytes = 100_000\n'
        '[target."mine.toml".monitor.box]\nartifact_bytes = 1_000_000\n'
    )
    common = bench_of(digits_bundle)
    done = edgemon(*common, "--budgets", stated, "--junit", "found.xml")
    assert done.exit_code == 3
    assert "monitor_ns is" in done.stderr
    (suite,) = JUnitXml.fromfile("found.xml")
    found = {case.name: [type(r) for r in case.result] for case in suite}
    assert found == {
        "overhead": [], "monitor_ns": [Failure], "monitor_ns of box": [],
        "stack_bytes on mine.toml": [],
        "artifact_bytes of box on mine.toml": [],
    }  # fmt: skip


def test_what_cannot_be_measured_has_its_own_code(
    digits_bundle: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "budgets.toml").write_text("[target.cortex-m4f]\nflash_bytes = 1e9\n")
    monkeypatch.setenv("PATH", str(folder))
    common = bench_of(digits_bundle)
    files = ("--budgets", "budgets.toml", "--junit", "found.xml")
    assert "flash_bytes on cortex-m4f was not measured" in refused(*common, *files, code=8)
    ((case,),) = JUnitXml.fromfile("found.xml")
    assert isinstance(case.result[0], Skipped)


def test_mistakes_get_a_sentence(digits_bundle: Path, folder: Path) -> None:
    stated = folder / "budgets.toml"
    common = bench_of(digits_bundle, 4, 2)
    assert "--budgets none.toml: cannot be read" in refused(*common, "--budgets", "none.toml")
    assert "give --budgets too" in refused(*common, "--junit", "found.xml")
    stated.write_text("[bench.monitor.boxes]\nmonitor_ns = 1\n")
    assert "no monitor 'boxes'; there are softmax, box" in refused(*common, "--budgets", stated)
    stated.write_text("[target.toaster]\nflash_bytes = 1\n")
    assert "target toaster: unknown" in refused(*common, "--budgets", stated)
    stated.write_text("[bench]\nram_bytes = 1e9\n")
    nowhere = (*common, "--budgets", stated, "--junit", "nowhere/found.xml")
    assert "--junit nowhere/found.xml: cannot be written" in refused(*nowhere)
