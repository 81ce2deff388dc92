"""MISRA C:2012 by cppcheck's addon: findings are those of docs/safety.md, with a reason."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.runtime.c_compilers import C, need

PAGE = ROOT / "docs" / "safety.md"
MANDATORY = {  # of MISRA C:2012
    "9.1", "12.5", "13.6", "17.3", "17.4", "17.6", "19.1", "21.13", "21.17", "21.18",
    "21.19", "21.20", "22.2", "22.4", "22.5", "22.6",
}  # fmt: skip
OPTIONS = (
    "--addon=misra", "--enable=style,warning,portability", "--std=c11", "-DINT_MAX=2147483647",
)  # fmt: skip


def deviations() -> dict[str, str]:
    """The list: finding and reason."""
    table = PAGE.read_text().partition("## MISRA C:2012")[2]
    return {
        name: reason
        for name, reason in re.findall(r"^\| ([\w.-]+) \| \w+ \| (.+) \|$", table, re.MULTILINE)
        if name != "finding"
    }


def findings(*sources: Path) -> Counter[str]:
    program = need("cppcheck")
    command = [program, *OPTIONS, "--quiet", "--template={id}", f"-I{C / 'include'}"]
    done = subprocess.run(
        [*command, *map(str, sources)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = [v.strip() for v in done.stderr.splitlines()]
    if any("addon" in v for v in lines):
        pytest.skip("cppcheck's MISRA addon is not installed")
    return Counter(v for v in lines if re.fullmatch(r"[\w.-]+", v))


def test_every_finding_is_a_deviation_with_a_reason() -> None:
    found, listed = findings(C / "src"), deviations()
    assert found["misra-c2012-15.5"] > 50, "the addon did not look"
    unlisted = {name: count for name, count in found.items() if name not in listed}
    assert not unlisted, f"mend these, or give docs/safety.md a reason: {unlisted}"
    assert not {f"misra-c2012-{rule}" for rule in MANDATORY} & set(listed)


def test_the_command_is_the_one_on_the_page() -> None:
    assert (
        " ".join(["cppcheck", *OPTIONS, "-I runtime/c/include runtime/c/src"]) in PAGE.read_text()
    )


def test_a_finding_of_another_rule_would_be_seen(tmp_path: Path) -> None:
    source = tmp_path / "a.c"
    source.write_text("int f(int x);\nint f(int x) { if (x > 0) { goto end; }\nend: return x; }\n")
    assert set(findings(source)) - set(deviations())  # goto: rule 15.1
