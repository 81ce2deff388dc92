"""What a reader must know before relying on the numbers, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

FEW = 50  # wrong rows: a half of them has a 95 % interval of 36 to 64 %, and of fewer a wider one
MANY_ALARMS = 0.2  # a verdict that alarms on a larger share of right answers is hardly of use


def findings(document: dict[str, Any]) -> list[dict[str, str]]:
    """Warnings about a report's numbers, each with a kind for programs and a text for people."""
    return [{"kind": kind, "text": text} for kind, text in _all(document)]


def _all(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    test, fit = document["splits"]["test"], document["splits"]["fit"]
    if not test["wrong"]:
        yield (
            "no_wrong_test_rows",
            f"None of the {test['rows']:,} test rows is classified wrongly: what the monitors "
            "catch cannot be measured. Give more test rows, or harder ones (--test).",
        )
    elif test["wrong"] < FEW:
        yield (
            "few_wrong_test_rows",
            f"Only {test['wrong']} of the {test['rows']:,} test rows are classified wrongly, so "
            "that the intervals of everything about wrong answers are wide. More test rows make "
            "them narrower (--test).",
        )
    if fit["wrong"] < FEW:
        yield (
            "few_wrong_fit_rows",
            f"Only {fit['wrong']} of the {fit['rows']:,} fit rows are classified wrongly: "
            "monitors that learn from errors had little to learn from. Fit on rows that the model "
            "was not trained on (--fit).",
        )
    for monitor in document["monitors"]:
        yield from _about(monitor)
    yield from _about_the_promise(document)


def _about(monitor: dict[str, Any]) -> Iterator[tuple[str, str]]:
    name, metrics = monitor["name"], monitor["metrics"]
    interval = metrics["auroc_interval"]
    if interval is not None and interval[1] < 0.5:
        yield (
            "backwards",
            f"{name} ranks backwards on this model: it finds right answers more suspicious than "
            f"wrong ones (AUROC {metrics['auroc']:.3f}). Leave it out.",
        )
    elif interval is not None and interval[0] <= 0.5:
        yield (
            "no_signal",
            f"{name} shows no signal on this model: the interval of its AUROC, "
            f"{interval[0]:.3f} to {interval[1]:.3f}, includes 0.5, the value of a coin. "
            "Leave it out, or try other taps.",
        )
    if metrics["fpr"] is not None and metrics["fpr"] > MANY_ALARMS:
        yield (
            "many_false_alarms",
            f"{name} alarms on {metrics['fpr']:.1%} of the right answers, and the verdict takes "
            "over every alarm.",
        )
    if metrics["confusion"]["tp"] + metrics["confusion"]["fp"] == 0:
        yield (
            "never_alarms",
            f"{name} alarms on no test row. A score with few values can leave none above a "
            "threshold that keeps the promise; --thresholds method takes the method's own.",
        )
    faults = sum(v["fault"] for v in monitor["verdicts"].values())
    if faults:
        yield (
            "faults",
            f"{name} gives a fault on {faults:,} test rows: its score is no finite number there.",
        )


def _about_the_promise(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    promise = document["promise"]
    for monitor in document["monitors"]:
        if promise is None or monitor["name"] not in promise["monitors"]:
            continue
        rate = "missed" if promise["of"] == "misses" else "fpr"
        interval = monitor["metrics"][f"{rate}_interval"]
        if interval is not None and interval[0] > promise["rate"]:
            does = "misses more errors" if rate == "missed" else "raises more false alarms"
            yield (
                "promise_not_met",
                f"{monitor['name']} {does} on the test rows than it promises: "
                f"{monitor['metrics'][rate]:.1%} against {100 * promise['rate']:g}%, which "
                "the interval excludes. Test and threshold rows are not alike.",
            )
