"""What the report warns of, on documents made by hand."""

from __future__ import annotations

from typing import Any

from edgemon.compiler.report.findings import findings

UNSAID: dict[str, Any] = {  # what a document need not tell
    "input": None, "own_labels": None, "guard": None, "augmented": None,
}  # fmt: skip
BETTER: dict[str, Any] = {"kind": "m", "worth": {"mark": "better"}}  # than the softmax


def test_findings_of_leakage_and_of_a_better_opinion() -> None:
    plain = {
        **UNSAID,
        "splits": {
            "fit": {"rows": 500, "wrong": 100, "groups": None},
            "threshold": {"rows": 1000, "wrong": 20, "groups": None},
            "test": {"rows": 1000, "wrong": 150, "groups": None},
        },
        "groups": None,
        "options": {"expect_accuracy": None},
        "monitors": [],
        "left_out": [],
        "promise": None,
        "comparison": [
            {"signal": "second_opinion", "opinion": [80, 20], "second_inference": False},
            {"signal": "boosted_opinion", "opinion": [30, 28], "second_inference": False},
            {"signal": "msp_t", "opinion": None, "second_inference": False},
            {"signal": "mirror", "opinion": [90, 20], "second_inference": True},
        ],
    }
    found = {f["kind"]: f["text"] for f in findings(plain)}
    assert "98.0% of the threshold rows rightly, but 85.0% of the test rows" in found["leakage"]
    assert found["replace_the_model"].startswith("second_opinion answers better")
    assert found["answer_by_both_inferences"].startswith("mirror answers better")
    alike = {**plain["splits"], "test": {"rows": 1000, "wrong": 25, "groups": None}}
    expected = {**plain, "splits": alike, "options": {"expect_accuracy": 0.9}, "comparison": []}
    assert {f["kind"] for f in findings(expected)} == {"leakage", "few_wrong_test_rows"}
    honest = {**expected, "options": {"expect_accuracy": 0.975}}
    assert {f["kind"] for f in findings(honest)} == {"few_wrong_test_rows"}


def test_rows_of_a_group_are_no_evidence_of_their_own() -> None:
    """Findings that rest on a test took each row of a group for an observation."""
    splits = {
        "fit": {"rows": 500, "wrong": 100, "groups": None},
        "threshold": {"rows": 1000, "wrong": 20, "groups": None},
        "test": {"rows": 1000, "wrong": 70, "groups": None},
    }
    metrics = {
        "auroc_interval": None, "fpr": 0.08, "fpr_interval": [0.06, 0.1],
        "confusion": {"tp": 9, "fp": 1},
    }  # fmt: skip
    promise: dict[str, Any] = {
        "monitors": ["m"], "of": "false alarms", "rate": 0.05, "whose": "monitor",
        "answers": "correct",
        "realised": {
            "by_row": {"m": {"rows": 1000, "rate": 0.08, "interval": [0.06, 0.1]}},
            "by_set": None, "sets": None,
        },
    }  # fmt: skip
    plain = {
        **UNSAID, "splits": splits, "options": {"expect_accuracy": None}, "groups": None,
        "promise": promise, "comparison": [],
        "left_out": [],
        "monitors": [{
            "name": "m", **BETTER, "ties_broken": False, "metrics": metrics,
            "second_inference": False,
            "verdicts": {"right": {"fault": 0}, "wrong": {"fault": 0}},
        }],
    }  # fmt: skip
    assert {f["kind"] for f in findings(plain)} == {"leakage", "promise_not_met"}
    kept = {"m": {"rows": 40, "rate": 0.08, "interval": [0.02, 0.2]}}
    grouped = {
        **plain,
        "splits": {name: {**part, "groups": 40} for name, part in splits.items()},
        "groups": {"by": "track"},
        "promise": {
            **promise,
            "realised": {**promise["realised"], "by_set": kept, "sets": "group"},
        },
    }
    assert {f["kind"] for f in findings(grouped)} == {"grouped_rows"}
    kept["m"]["interval"] = [0.06, 0.2]
    (broken,) = [f["text"] for f in findings(grouped) if f["kind"] == "promise_not_met"]
    assert "on one row of each test group than was promised: 8.0% against 5%" in broken


def test_what_was_left_out_is_a_finding() -> None:
    """A fusion lost signals in silence: nobody could tell a weak fusion from a crippled one."""
    splits = {
        name: {"rows": 500, "wrong": 100, "groups": None} for name in ("fit", "threshold", "test")
    }
    document = {
        **UNSAID, "splits": splits, "options": {"expect_accuracy": None}, "groups": None,
        "promise": None, "comparison": [],
        "monitors": [], "left_out": [{"monitor": "forest", "reason": "the input is wide"}],
    }  # fmt: skip
    assert findings(document) == [
        {"kind": "left_out", "text": "Left out: forest: the input is wide."}
    ]


def test_errors_among_changed_copies_are_errors_to_learn_from() -> None:
    splits = {
        "fit": {"rows": 500, "wrong": 10, "groups": None},
        "threshold": {"rows": 500, "wrong": 100, "groups": None},
        "test": {"rows": 500, "wrong": 100, "groups": None},
    }
    plain: Any = {
        **UNSAID, "splits": splits, "options": {"expect_accuracy": None}, "groups": None,
        "monitors": [], "left_out": [], "promise": None, "comparison": [],
    }  # fmt: skip
    assert [f["kind"] for f in findings(plain)] == ["few_wrong_fit_rows"]
    cells = [{"label": "a", "tried": 9, "broken": 4, "copies": 60, "errors": 45}]
    changes = [{"property": "noise", "value": 0.3, "classes": cells}]
    guard = {"changes": changes, "copies": 60, "errors": 45, "share": 1.0}
    (found,) = findings({**plain, "guard": guard})
    assert found["kind"] == "guarded"
    assert "60 changed copies of fit rows (noise=0.3)" in found["text"]
    assert "not of changed ones" in found["text"]


def test_a_fusion_against_novelty_without_a_signal_of_it_is_said() -> None:
    """On an ONNX convnet with 1,152 features scod became errors, and only the list of what was
    left out told."""
    splits = {
        name: {"rows": 500, "wrong": 100, "groups": None} for name in ("fit", "threshold", "test")
    }
    quiet = {
        **BETTER, "ties_broken": False, "second_inference": False,
        "metrics": {"auroc_interval": None, "fpr": 0.04, "confusion": {"tp": 9, "fp": 1}},
        "verdicts": {"right": {"fault": 0}, "wrong": {"fault": 0}},
    }  # fmt: skip
    plain: Any = {
        **UNSAID, "splits": splits, "options": {"expect_accuracy": None}, "groups": None,
        "monitors": [{"name": "scod", **quiet}], "left_out": [], "promise": None, "comparison": [],
    }  # fmt: skip

    def said(signals: list[tuple[str, bool, bool, int]], name: str = "scod") -> list[str]:
        found = {
            **plain, "monitors": [{"name": name, **quiet}],
            "comparison": [
                {"signal": s, "novelty": n, "kept": k, "size_bytes": b, "opinion": None,
                 "second_inference": False} for s, n, k, b in signals
            ],
        }  # fmt: skip
        return [f["text"] for f in findings(found) if f["kind"] == "no_novelty_signal"]

    large = [("density", True, False, 98_000), ("rmds", True, False, 42_700)]
    (text,) = said([("msp_t", False, True, 300), *large])
    assert "The smallest, rmds, takes 41.7 kB" in text
    assert "give --budget-kb 85 or more" in text
    assert "None can be read from it" in said([])[0]
    assert not said([*large, ("prototypes", True, True, 9_000)])
    assert not said(large, name="errors")
