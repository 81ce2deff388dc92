"""Budgets: what people write, what is refused, and a limit that is missed by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from edgemon.compiler.cost import limits
from edgemon.compiler.cost.limits import HERE, ON_TARGET, BudgetLine, Limit
from edgemon.compiler.errors import BudgetError, CompileError, UnmeasuredError

FILE = """
[bench]  # here
overhead = 1.02
monitor.errors.monitor_ns = 900

[target.cortex-m4f]
flash_bytes = 65_536

[target."mine.toml".monitor.errors]
instructions = 30000
"""


def load(folder: Path, text: str) -> list[Limit]:
    path = folder / "budgets.toml"
    path.write_text(text)
    return limits.load(path)


def test_a_file_states_limits_by_target_and_monitor(tmp_path: Path) -> None:
    assert load(tmp_path, FILE) == [
        Limit("overhead", 1.02, None, None, 3),
        Limit("monitor_ns", 900, None, "errors", 4),
        Limit("flash_bytes", 65536, "cortex-m4f", None, 7),
        Limit("instructions", 30000, "mine.toml", "errors", 10),
    ]


MISTAKES = {
    "[bench]\nspeed = 1": "[bench]: unknown budget 'speed'; there are overhead",
    "[target.m0]\noverhead = 1": "[target.m0]: unknown budget 'overhead'; there are code_bytes",
    "[bench]\noverhead = true": "[bench] overhead: True is not a number",
    "[bench]\noverhead = 'low'": "[bench] overhead: 'low' is not a number",
    "[bench]\noverhead = nan": "must be 0 or more, and finite",
    "[bench]\noverhead = inf": "must be 0 or more, and finite",
    "[bench]\noverhead = -1": "must be 0 or more, and finite",
    "[budget]\noverhead = 1": "unknown table [budget]; there are [bench] and [target.NAME]",
    "bench = 3": "is not a table",
    "[bench]\nmonitor = 3": "is not a table",
    "[bench.monitor]\nerrors = 3": "is not a table",
    "target = 3": "is not a table",
    "[target]\nm0 = 3": "is not a table",
    "": "states no limit",
    "[bench": "is not TOML",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_in_a_file_get_a_sentence(text: str, tmp_path: Path) -> None:
    with pytest.raises(CompileError) as error:
        load(tmp_path, text)
    assert MISTAKES[text] in str(error.value)
    assert "budgets.toml" in str(error.value)


@pytest.mark.parametrize(
    ("flag", "said"),
    {
        "flash_bytes=1,flash_bytes=9": "flash_bytes is given twice",
        "flash_bytes=inf": "must be 0 or more, and finite",
        "flash_bytes=nan": "must be 0 or more, and finite",
        "flash_bytes": "'' is not a number",
        "flash=1": "unknown budget 'flash'",
    }.items(),
)
def test_mistakes_in_the_flag_get_a_sentence(flag: str, said: str) -> None:
    with pytest.raises(CompileError) as error:
        limits.parse(flag, HERE)
    assert said in str(error.value)


@pytest.mark.parametrize("name", ["flash_bytes", "instructions"])
def test_a_budget_missed_by_one_fails_with_all_digits(name: str) -> None:
    """A near miss was printed as 1.23457e+06, over 1.23457e+06."""
    (limit,) = limits.parse(f"{name}=1234567", ON_TARGET, "cortex-m4f")
    limits.require([BudgetLine(limit, 1234567)])
    with pytest.raises(BudgetError) as error:
        limits.require([BudgetLine(limit, 1234568)])
    assert f"{name} on cortex-m4f is 1,234,568, over 1,234,567" in str(error.value)
    assert error.value.exit_code == 3


def test_what_was_not_measured_is_not_met() -> None:
    (limit,) = limits.parse("instructions=5", ON_TARGET, "cortex-m4f")
    unknown, missed = BudgetLine(limit, None, "no emulator"), BudgetLine(limit, 6)
    assert not unknown.met
    with pytest.raises(UnmeasuredError, match="was not measured: no emulator") as error:
        limits.require([BudgetLine(limit, 5), unknown])
    assert error.value.exit_code == 8
    with pytest.raises(BudgetError, match="is 6, over 5"):
        limits.require([unknown, missed])
