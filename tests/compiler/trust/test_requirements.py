"""Requirements of a pipeline: read, kept, missed, and misunderstood."""

from __future__ import annotations

import pytest

from edgemon.compiler.errors import BudgetError, CompileError
from edgemon.compiler.trust.requirements import parse, require


def test_names_may_have_arguments_with_commas() -> None:
    found = parse("net_trust>=0.75, robust(rotation=10)>=.8,robust(a=1,b=2) <= 1e-1")
    assert [(r.name, r.at_least, r.limit) for r in found] == [
        ("net_trust", True, 0.75), ("robust(rotation=10)", True, 0.8),
        ("robust(a=1,b=2)", False, 0.1),
    ]  # fmt: skip
    assert parse("") == []


@pytest.mark.parametrize(
    "text", ["net_trust", "net_trust>0.5", "a>=b", "a>=nan", ">=1", "a>=1e999"]
)
def test_what_is_no_requirement_is_refused(text: str) -> None:
    with pytest.raises(CompileError, match="is not understood"):
        parse(text)


def test_all_that_are_missed_are_named() -> None:
    measured = {"a": 0.5, "b": 0.7, "c": None}
    assert require(parse("a>=0.5,b<=0.7"), measured) == ["a >= 0.5: 0.5", "b <= 0.7: 0.7"]
    with pytest.raises(BudgetError, match=r"a is 0.5, and must be >= 0.6; c is undefined"):
        require(parse("a>=0.6,b>=0.1,c<=9"), measured)
    with pytest.raises(CompileError, match="d: is not measured here; there are a, b, c"):
        require(parse("d>=1"), measured)
