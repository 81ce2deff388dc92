"""Parts of ``manifest.json`` and ``report.json``: monitors, what they are worth and what they take.

The comment above or beside a field is what docs/documents.md says of it. Everything imports this
module, and it imports nothing of the compiler.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

Details = dict[str, Any]  # what a monitor learned, in a shape of its own


class Quality(TypedDict):
    """Alarms on test rows; positive: the model is wrong. null: undefined."""

    rows: int  # test rows
    true_alarms: int  # wrong answers with an alarm
    false_alarms: int  # right answers with an alarm
    missed: int  # wrong answers without an alarm
    quiet: int  # right answers without an alarm
    mcc: float | None  # Matthews correlation, from -1 to 1
    auroc: float | None  # of the score, from 0 to 1
    false_alarm_rate: float | None  # share of the right answers that alarm
    miss_rate: float | None  # share of the wrong answers that do not alarm


class Alone(TypedDict):
    """A monitor at thresholds that promise of it alone what the verdict is promised."""

    thresholds: Sequence[float]  # as scores are shown; one, or one a class
    quality: Quality


class OperatingPoint(TypedDict):
    """What a threshold with another promise does on the test rows, of one monitor by itself."""

    promised: float  # share of right answers that alarm, at most
    rows_needed: int  # right threshold rows without which nothing can be promised
    rows: int  # those that there are
    threshold: float | None  # as scores are shown; null with fewer rows than needed, and so below
    caught: float | None  # share of wrong answers that alarm
    caught_interval: Sequence[float] | None  # 95 %, exact (Clopper, Pearson)
    false_alarms: float | None  # share of right answers that alarm
    false_alarms_interval: Sequence[float] | None  # likewise
    precision: float | None  # share of alarms that are wrong answers


class Worth(TypedDict):
    """Is a monitor better than chance, and than the plain softmax (1 minus the model's largest
    probability) on the same test rows? By intervals of 95 %; null: undefined."""

    # "better", "no better" or "worse" than the softmax; "softmax": it is that; "weak": not shown to
    # be better than chance; "unmeasured": too few right or wrong test rows.
    mark: Literal["better", "no better", "worse", "softmax", "weak", "unmeasured"]
    softmax_auroc: float | None  # of the plain softmax on the same test rows
    softmax_mcc: float | None  # of the softmax under the promise of it alone
    auroc_beyond: Sequence[float] | None  # of its AUROC minus the softmax's (DeLong)
    # Of its MCC minus the softmax's, each under the promise of it alone; paired bootstrap.
    mcc_beyond: Sequence[float] | None
    # What to take in its place: a better monitor of the same bundle, or "msp_t"; null: nothing.
    instead: str | None
    best_member: str | None  # of a fusion the signal of the highest AUROC; null: no fusion
    member_beyond: Sequence[float] | None  # of the fusion's AUROC minus that signal's (DeLong)


class Monitor(Quality):
    """A monitor that judges; its quality is that on the test rows."""

    name: str  # of the monitor in the artifact
    kind: str  # as --monitor has it
    what: str  # what it looks at, in words
    reason: str  # what it says when it alarms, with {score} and {threshold}
    taps: list[str]  # tensors that it reads
    second_inference: bool  # does it need the model's answer to another input as well?
    threshold: float  # alarm above it; as scores are shown
    uncertain_above: float  # as scores are shown
    threshold_raw: float  # as the device compares it
    threshold_from: Literal["held-out", "method"]  # a promise, or what the method prescribes
    ties_broken: bool  # is the score a rank, with ties broken by the softmax?
    raw_auroc: float | None  # without that ranking
    raw_mcc: float | None  # without that ranking, under the same promise
    alone: Alone | None  # null where the promise is of this monitor alone, or none
    # Where the score is the excess over the predicted class's threshold: the threshold of each
    # class, as scores are shown.
    class_thresholds: list[float] | None
    bytes: int  # of its tables and nodes, with the signals that explain it
    estimated_us: float | None  # us an image on the target; null where nobody has measured it
    worth: Worth
    details: Details  # what it learned, in a shape of its own


class WorstCase(TypedDict):
    """The most that an evaluation does, whatever its input; bytes are counted once each."""

    operations: int  # element operations, FORMAT.md section 7.12
    record_bytes: int  # read, of the artifact: of its program, taps, nodes, tables and monitors
    table_bytes: int  # read, of the artifact: the rows of its tables that it reaches
    tap_bytes: int  # read
    workspace_bytes: int  # written and read
    touched_bytes: int  # all of these


class Candidate(TypedDict):
    """What a signal of a fusion would be worth alone, under the same promise."""

    signal: str  # as --monitor has it
    novelty: bool  # is it one of novelty, and not of errors?
    kept: bool  # is it in the fusion?
    size_bytes: int  # of its tables and nodes
    estimated_us: float | None  # us an image
    quality: Quality
    # Of one that answers itself: test rows that it alone has right, and that the model alone has.
    opinion: Sequence[int] | None
    second_inference: bool  # which no cost here includes


class LeftOut(TypedDict):
    """What takes no part by the compiler's own choice."""

    monitor: str  # or signal
    reason: str  # why, as a sentence
