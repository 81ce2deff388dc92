"""What a reader must know before relying on the numbers, in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from scipy.stats import binomtest, fisher_exact

from edgemon.compiler import augmenting
from edgemon.compiler.documents import report as schema
from edgemon.compiler.documents.measured import Finding
from edgemon.compiler.documents.monitors import Candidate, Monitor
from edgemon.compiler.guarding import sentence
from edgemon.compiler.monitors.fusion.fusion import NOVELTY_SHARE
from edgemon.compiler.monitors.fusion.profiles import ErrorsMonitor, ScodMonitor
from edgemon.compiler.recording import own_labels
from edgemon.compiler.recording.accuracy import about_input
from edgemon.compiler.report.worth import about_worth
from edgemon.runtime.views import ODIN, split

SURE = 1e-3  # p-value below which a difference is no accident
LEAP = 0.02  # least difference of accuracies that is worth a word
FEW = 50  # wrong rows: a half of them has a 95 % interval of 36 to 64 %, and of fewer a wider one
MANY_ALARMS = 0.2  # a verdict that alarms on a larger share of right answers is hardly of use


def findings(document: schema.Numbers) -> list[Finding]:
    """Warnings about a report's numbers, each with a kind for programs and a text for people."""
    return [{"kind": kind, "text": text} for kind, text in _all(document)]


def _all(document: schema.Numbers) -> Iterator[tuple[str, str]]:
    test, fit = document["splits"]["test"], document["splits"]["fit"]
    yield from about_input(document["input"])
    yield from own_labels.about(document["own_labels"])
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
    guard, augmented = document["guard"], document["augmented"]
    if fit["wrong"] + (0 if guard is None else guard["errors"]) < FEW:
        yield (
            "few_wrong_fit_rows",
            f"Only {fit['wrong']} of the {fit['rows']:,} fit rows are classified wrongly: "
            "monitors that learn from errors had little to learn from. Fit on rows that the model "
            "was not trained on (--fit).",
        )
    if guard is not None:
        said = sentence(guard)
        yield "guarded", f"{said[0].upper()}{said[1:]}."
    if augmented is not None and augmented["used"]:
        said = augmenting.sentence(augmented)
        yield "augmented", f"{said[0].upper()}{said[1:]}."
    if document["groups"] is not None:
        yield (
            "grouped_rows",
            f"The {test['rows']:,} test rows are of {test['groups']:,} groups (by "
            f"{document['groups']['by']}), and rows of a group are alike. Intervals here take rows "
            "as independent, so that they are too narrow.",
        )
    for found in document["left_out"]:
        yield "left_out", f"Left out: {found['monitor']}: {found['reason']}."
    yield from _about_leakage(document)
    yield from _about_opinions(document)
    yield from _about_novelty(document["monitors"], document["comparison"])
    yield from _about_ties(document["monitors"])
    for monitor in document["monitors"]:
        yield from _about(monitor)
        yield from about_worth(monitor, [m["name"] for m in document["monitors"]])
        yield from _about_companions(monitor, document)
    yield from _about_the_promise(document)


def _about_leakage(document: schema.Numbers) -> Iterator[tuple[str, str]]:
    """Held-out rows on which the model does far better than it should were perhaps trained on."""
    threshold, test = (_independent(document["splits"][name]) for name in ("threshold", "test"))
    expected = document["options"]["expect_accuracy"]
    right = threshold["rows"] - threshold["wrong"]
    if expected and right / threshold["rows"] > expected + LEAP:
        p = binomtest(right, threshold["rows"], expected, alternative="greater").pvalue
        if p < SURE:
            yield (
                "leakage",
                f"The model answers {right / threshold['rows']:.1%} of the threshold rows rightly, "
                f"where {expected:.1%} was expected: was it trained on them? Thresholds set on "
                "training rows alarm too often on others.",
            )
    counts = [[right, threshold["wrong"]], [test["rows"] - test["wrong"], test["wrong"]]]
    share = (1 - test["wrong"] / test["rows"]) + LEAP
    if right / threshold["rows"] > share and fisher_exact(np.array(counts)).pvalue < SURE:
        yield (
            "leakage",
            f"The model answers {right / threshold['rows']:.1%} of the threshold rows rightly, but "
            f"{1 - test['wrong'] / test['rows']:.1%} of the test rows: threshold rows look like "
            "training rows. Thresholds set on those alarm too often on others.",
        )


def _independent(split: schema.Split) -> dict[str, int]:
    """Counts as of so many independent rows: of rows in groups no more than there are groups."""
    share = 1 if split["groups"] is None else split["groups"] / split["rows"]
    return {"rows": round(split["rows"] * share), "wrong": round(split["wrong"] * share)}


_REMEDIES = (
    ("replace_the_model", "Replace the model, or retrain its last layer."),
    (
        "answer_by_both_inferences",
        "It sees two inferences: where there is time for both, let their mean answer.",
    ),
)


def _about_opinions(document: schema.Numbers) -> Iterator[tuple[str, str]]:
    """A signal that answers better than the model itself should take its place."""
    for candidate in document["comparison"]:
        if candidate["opinion"] is None:
            continue
        better, worse = candidate["opinion"]
        if better > worse and binomtest(better, better + worse).pvalue < SURE:
            kind, remedy = _REMEDIES[candidate["second_inference"]]
            yield (
                kind,
                f"{candidate['signal']} answers better than the model itself: of the test rows "
                f"that one of them has wrong it has {better} right and the model {worse}. {remedy}",
            )


def _about_novelty(
    monitors: Sequence[schema.MonitorReport], candidates: Sequence[Candidate]
) -> Iterator[tuple[str, str]]:
    """A fusion against novel inputs without a signal of novelty."""
    if all(m["name"] != ScodMonitor.kind for m in monitors):
        return
    new = [c for c in candidates if c["novelty"]]
    if any(c["kept"] for c in new):
        return
    said = (
        f"{ScodMonitor.kind} has no signal of novelty on this model, so that it is what "
        f"{ErrorsMonitor.kind} is: do not rely on it for inputs of no class. "
    )
    if new:
        least = min(new, key=lambda c: c["size_bytes"])
        kb = least["size_bytes"] / 1024
        said += (
            f"The smallest, {least['signal']}, takes {kb:.1f} kB, and signals of novelty may take "
            f"half of the budget: give --budget-kb {math.ceil(kb / NOVELTY_SHARE) + 1} or more."
        )
    else:
        said += "None can be read from it; name what fits as a monitor of its own, as box."
    yield "no_novelty_signal", said


def _about_ties(monitors: Sequence[Monitor]) -> Iterator[tuple[str, str]]:
    """What a score is worth that the softmax helps."""
    for monitor in monitors:
        if monitor["ties_broken"] and None not in (monitor["auroc"], monitor["raw_auroc"]):
            mcc = "undefined" if monitor["raw_mcc"] is None else f"{monitor['raw_mcc']:.3f}"
            yield (
                "ties_broken",
                f"{monitor['name']} has few values, whose ties are ranked by the softmax: its own "
                f"score alone has an AUROC of {monitor['raw_auroc']:.3f} (ranked "
                f"{monitor['auroc']:.3f}), and an MCC of {mcc} under the same promise.",
            )


def _about_companions(
    monitor: schema.MonitorReport, document: schema.Numbers
) -> Iterator[tuple[str, str]]:
    for companion in document.get("companions", ()):
        if monitor["name"] in companion["monitors"]:
            yield (
                "companion",
                f"{monitor['name']} needs a companion model ({companion['file']}, "
                f"{companion['bytes']:,} bytes) that runs beside the model for each image; "
                "`edgemon bench` measures its time.",
            )


def _input_of(monitor: schema.MonitorReport) -> str:
    odin = any(split(name)[1] == ODIN for name in monitor["taps"])
    return "the image that its companion makes" if odin else "the mirrored image"


def _about(monitor: schema.MonitorReport) -> Iterator[tuple[str, str]]:
    name, metrics = monitor["name"], monitor["metrics"]
    if monitor["second_inference"]:
        yield (
            "second_inference",
            f"{name} needs a second inference of the model for each image, on "
            f"{_input_of(monitor)}: that doubles the time of the model.",
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
    faults = sum(monitor["verdicts"][group]["fault"] for group in schema.ANSWERS)
    if faults:
        yield (
            "faults",
            f"{name} gives a fault on {faults:,} test rows: its score is not finite there.",
        )


def _about_the_promise(document: schema.Numbers) -> Iterator[tuple[str, str]]:
    promise = document["promise"]
    if promise is None:
        return
    realised, where = promise["realised"]["by_row"], "the test rows"
    by_set = promise["realised"]["by_set"]
    if by_set is not None and promise["realised"]["sets"] == "group":
        realised, where = by_set, "one row of each test group"
    promised = promise["monitors"] if promise["whose"] == "monitor" else ["verdict"]
    for name in promised:
        found = realised[name]
        if found["interval"] is not None and found["interval"][0] > promise["rate"]:
            does = "misses more errors" if promise["of"] == "misses" else "raises more false alarms"
            together = ", ".join(promise["monitors"])
            who = f"The verdict of {together} together" if name == "verdict" else name
            yield (
                "promise_not_met",
                f"{who} {does} on {where} than was promised: "
                f"{found['rate']:.1%} against {100 * promise['rate']:g}%, which "
                "the interval excludes. Test and threshold rows are not alike.",
            )
    yield from _about_repeats(promise)


def _about_repeats(promise: schema.PromiseReport) -> Iterator[tuple[str, str]]:
    realised = promise["realised"]
    if realised["by_set"] is None or realised["sets"] != "values":
        return
    rows, once = realised["by_row"]["verdict"], realised["by_set"]["verdict"]
    if None not in (rows["rate"], once["rate"]):
        yield (
            "repeats",
            f"Some of the {rows['rows']:,} {promise['answers']} test rows have equal values. "
            f"With each of them the verdict has {rows['rate']:.1%} {promise['of']}, with one row "
            f"of each value {once['rate']:.1%}. The first is what comes of a process that repeats "
            "its values, the second of one whose copies collecting made: say which (--repeats).",
        )
