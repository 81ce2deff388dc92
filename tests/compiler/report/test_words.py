"""Plain words in the report for keys that were shown as they are."""

from __future__ import annotations

from edgemon.compiler.report.facts import Table, facts
from edgemon.compiler.report.words import setting


def test_a_limit_of_nought_is_said_to_be_none() -> None:
    assert setting("budget_us", 0.0) == ("budget_us=0", "no limit")
    assert setting("novelty_weight", 0.0) == ("novelty_weight=0", "as errors allow")
    assert setting("budget_us", 2.5) == ("budget_us=2.5", "")
    assert setting("seed", 0) == ("seed=0", "")
    assert setting("mirror", False) == ("mirror=False", "")


def test_what_is_learned_in_every_row_is_a_sentence() -> None:
    for learned, word in ((True, "learned from the model's errors"), (False, "not learned")):
        rows = [{"signal": name, "learned": learned} for name in "ab"]
        (table,) = facts({"signals": rows})
        assert isinstance(table, Table)
        (said,) = table.always
        assert word in said
        assert not {"yes", "no"} & set(said.split())


def test_other_columns_keep_their_own_words() -> None:
    (table,) = facts({"layers": [{"tap": "a", "then": "wrong"}, {"tap": "b", "then": "wrong"}]})
    assert isinstance(table, Table)
    assert table.always == ("then wrong",)


def test_columns_have_words_and_intervals_are_spans() -> None:
    choice = {"signal": "a", "size_bytes": 1024, "auroc_interval": [0.5, 0.75], "stack_auroc": None}
    (table,) = facts({"selection": [choice, {**choice, "size_bytes": 2, "signal": "b"}]})
    assert isinstance(table, Table)
    assert table.columns == ("signal", "bytes")
    assert table.always == ("AUROC, 95\u202f% 0.5 to 0.75",)
    (table,) = facts({"selection": [choice]})
    assert isinstance(table, Table)
    assert table.rows == (("a", "1,024", "0.5 to 0.75"),)
