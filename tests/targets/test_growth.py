"""Code and stack of a target do not grow unseen."""

from __future__ import annotations

import pytest

from edgemon import targets
from edgemon.targets import release
from tests.conftest import ROOT
from tests.targets.test_footprint import installed, with_all_ops


@pytest.mark.parametrize("name", targets.names())
def test_no_target_has_grown(name: str) -> None:
    """More than the stated share fails: shrink it, or state new numbers in last_release.toml
    (python -m edgemon.targets.release) with the reason in the commit's message."""
    target = installed(name)
    before = release.released()[name]
    if (found := release.compiler_version(target)) != before["compiler"]:
        pytest.skip(f"{target.cc} is {found}; the numbers are of {before['compiler']}")
    assert release.grown(before, release.numbers(with_all_ops(name))) == []


def test_every_target_has_numbers() -> None:
    found = release.released()
    assert set(found) == set(targets.names())
    for table in found.values():
        assert set(table) == {"compiler", "flash", *release.STACKS}


def test_the_documents_state_these_numbers() -> None:
    """docs/footprint.md, the table of the runtime with all ops."""
    lines = (ROOT / "docs" / "footprint.md").read_text().splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    table = {row[0]: row[1:] for row in rows if len(row) == 7}
    for name, before in release.released().items():
        code, constants, _, *stacks = (n.replace(",", "") for n in table[name])
        assert int(code) + int(constants) == before["flash"], name
        assert [int(n) for n in stacks] == [before[f] for f in release.STACKS], name


def test_what_grows_by_more_than_the_share_is_named() -> None:
    before = {"compiler": "12.2.0", "flash": 10_000, "em_open": 1000}
    assert release.grown(before, {"flash": 10_500, "em_open": 1000}) == []
    assert release.grown(before, {"flash": 10_501, "em_open": 400}) == [
        "flash: 10,501 bytes, 5.0% more than 10,000"
    ]
    assert release.grown(before, {"flash": 9_000, "em_open": 1100}) == [
        "em_open: 1,100 bytes, 10.0% more than 1,000"
    ]
