"""What a user may decide: sentences from counts, of documents made by hand."""

from __future__ import annotations

from typing import Any

from edgemon.compiler.report.decision import advice, fusion_sentence


def point(promised: float, needed: int, caught: float | None, alarms: float | None) -> Any:
    return {
        "promised": promised, "rows_needed": needed, "rows": 200, "caught": caught,
        "false_alarms": alarms,
    }  # fmt: skip


def document(**more: Any) -> Any:
    points = [
        point(0.01, 299, None, None), point(0.02, 149, 0.2, 0.01), point(0.05, 59, 0.4, 0.04),
        point(0.1, 29, 0.5, 0.09),
    ]  # fmt: skip
    return {
        "monitors": [{"operating_points": points}], "promise": {"rate": 0.05},
        "splits": {"test": {"rows": 1000, "wrong": 100}}, "left_out": [], "comparison": [],
        "cost": {"second_inference": False}, **more,
    }  # fmt: skip


def test_other_promises_have_a_price_in_false_alarms() -> None:
    stricter, looser, rows = advice(document())
    assert stricter == (
        "--false-alarm 0.02 pays if a caught error is worth less than 1.4 false alarms: of 1,000 "
        "answers it spares 27 false alarms, and misses 20 more errors."
    )
    assert looser.startswith(
        "--false-alarm 0.1 pays if a caught error is worth more than 4.5 false alarms: of 1,000 "
        "answers it catches 10 more errors, for 45 more false alarms"
    )
    assert "a promise of 1 % needs 299 right ones, and there are 200" in rows


def test_what_more_would_buy_is_said_only_where_it_is_known() -> None:
    given = document(
        left_out=[{"monitor": "density", "reason": "it takes 40 kB, the budget is 32"},
                  {"monitor": "forest", "reason": "the input is wide"}],
        comparison=[{"second_inference": False}],
    )  # fmt: skip
    *_, budget, mirror = advice(given)
    assert budget.endswith("would give room to density.")
    assert mirror.startswith("A second inference was not tried")
    tried = {**given, "comparison": [{"second_inference": True}]}
    assert not any("not tried" in s for s in advice(tried))
    assert advice(document(monitors=[], promise=None)) == []


def test_a_fusion_is_held_to_its_best_signal() -> None:
    """A stack that lost to its best member was printed without a word."""
    worth: Any = {"best_member": "errors.second_opinion", "member_beyond": [-0.01, -0.001]}
    assert fusion_sentence(worth).startswith("worse than its best signal, second_opinion")
    assert "not shown" in fusion_sentence({**worth, "member_beyond": [-0.01, 0.001]})
    assert fusion_sentence({**worth, "member_beyond": [0.001, 0.01]}).startswith("better than")
    assert fusion_sentence({**worth, "best_member": None}) == ""
    alone = fusion_sentence({**worth, "member_beyond": [0.0, 0.0]})  # it keeps one signal
    assert alone == "no other ranking than that of its signal second_opinion"
