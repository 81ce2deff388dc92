"""Parts of ``manifest.json`` and ``report.json``: what was measured of data, model and bundle.

The comment above or beside a field is what docs/documents.md says of it. Everything imports this
module, and it imports nothing of the compiler.
"""

from collections.abc import Sequence
from typing import TypedDict

from edgemon.compiler.documents.asked import Source

Interval = Sequence[float]  # [least, most]


class OwnLabels(TypedDict):
    """The label that the model gives itself, against the class of its largest score."""

    output: str  # that gives the label
    rows: int  # that were compared
    different: int  # rows on which the two differ


class Decision(TypedDict):
    """Which class a single output unit means."""

    threshold: float  # class 1 strictly above it, else class 0; in the output's real values
    because: str  # where the threshold comes from


class InputRange(TypedDict):
    """How an integer input is filled."""

    clipped_share: float  # of the values
    used_share: float  # of the input's range, between the 0.1 % outer values of either side
    range: Interval  # real values that the input takes
    given: Interval  # real values that it was given


class Better(TypedDict):
    """Another preprocessing or order of classes with which the model is clearly better."""

    flags: str  # options of the command that set it
    accuracy: float  # share of rows that are right with it
    accuracy_now: float  # share of rows that are right without it
    rows: int  # that were compared
    only_it: int  # rows that are right only with it
    only_now: int  # rows that are right only without it
    p_value: float  # McNemar's exact test, times the alternatives that were compared


class Tried(TypedDict):
    """A preprocessing and an order of classes, on the first test rows of a sample."""

    flags: str  # options of the command that set it; "": what is in force
    right: int  # rows that the model has right with it
    rows: int  # on which it was tried


class Input(TypedDict):
    """What a first look at the input found."""

    spread: InputRange | None  # null: an input of floats or tokens
    better: Better | None
    tried: list[Tried]  # what is in force first
    vectors_as: list[int] | None  # shape of the images that came as vectors


class Counts(TypedDict):
    """How many rows each split has."""

    fit: int  # rows that monitors learned from
    threshold: int  # rows that thresholds were set on
    test: int  # rows that everything is measured on


class Shares(TypedDict):
    """A share of the rows of each split."""

    fit: float  # of rows that monitors learned from
    threshold: float  # of rows that thresholds were set on
    test: float  # of rows that everything is measured on


class Groups(TypedDict):
    """Rows that belong together, of which one sets thresholds."""

    by: str  # what was given for --group
    fit: int  # groups
    threshold: int  # groups
    test: int  # groups
    drawn: int | None  # groups of which a row sets thresholds; null where nothing is promised
    drawn_rows: int | None  # rows that set thresholds; null where nothing is promised


class Share(TypedDict):
    """Of the rows that a promise concerns, those that break it."""

    rows: int  # that the promise concerns
    rate: float | None  # share; null without rows
    interval: Interval | None  # 95 %, Clopper-Pearson


class Realised(TypedDict):
    """The promised rate as it came out on the test rows: of each monitor, and of the "verdict" of
    those whose thresholds are promised, or else of all."""

    by_row: dict[str, Share]  # every row counts
    by_set: dict[str, Share] | None  # one row of each set of alike rows; null where none are alike
    sets: str | None  # what rows have in common: "group" or "values"


class RunLength(TypedDict):
    """False flags on a long stream that is drawn from the test rows."""

    images: int  # of the stream
    flags: int  # that rose on it
    run_length: float | None  # images to a flag; null without a flag
    interval: Sequence[float | None]  # 95 %, Garwood, in images; null: no upper end


class DriftOnTest(TypedDict):
    """The test rows as one stream, in random order."""

    images: int  # of the stream
    flagged_at: int | None  # the image at which the flag rose


class DriftCandidate(TypedDict):
    """A score that the drift test might watch."""

    monitor: str  # or signal of a fusion
    # Until the flag, reckoned for each of the drift test's "changes", at most its run length; null:
    # the score has no test.
    images: list[float] | None


class Drift(TypedDict):
    """The drift test."""

    monitor: str  # whose score it watches; also a signal of a fusion
    considered: list[DriftCandidate]  # by what it was chosen; empty where nothing was to be chosen
    changes: list[str]  # of calibration rows that it was chosen on, as fault=severity
    bins: int  # of scores
    alternatives: list[str]  # changes that it looks for
    limit_nats: float  # at which the flag rises
    run_length: int  # promised images to a false flag, on average
    confidence: float  # of that promise, over the choice of the rows
    rows: int  # threshold rows that it was made from
    largest_group: int | None  # rows; null where rows come by themselves
    measured: RunLength | None  # null where all test rows are faults
    test_rows: DriftOnTest
    # Kolmogorov-Smirnov: probability of so unlike scores if threshold and test rows are alike.
    alike_p: float | None


class Flips(TypedDict):
    """Rows whose verdict changes."""

    to_alarm: int  # rows that were trusted before
    to_trust: int  # rows that are trusted after


class Changes(TypedDict):
    """Rows that differ between two evaluations."""

    classes: int  # by the predicted class
    verdict: Flips
    monitors: dict[str, Flips]  # by name


class Effect(TypedDict):
    """What errors of one size and kind change."""

    lsb: int  # size of the errors, in steps of the tap's grid
    error: str  # "random", "all up" or "all down"
    changes: Changes


class CodeErrors(TypedDict):
    """Errors of the integer taps' last bits."""

    rows: int  # test rows that were tried
    seed: int  # of the errors
    taps: Sequence[str]  # to which errors are added
    effects: Sequence[Effect]


class KernelSet(TypedDict):
    """The test rows under a kernel set, against the target's own."""

    kernels: str  # name of the set
    rows: int  # test rows that were compared
    values_changed: float  # share of the taps' values
    largest_lsb: int | None  # largest difference of an integer tap, in steps of its grid
    changes: Changes
    accuracy: float  # share
    false_alarm_rate: float | None  # of the verdict, on what is right under this set


class LastBits(TypedDict):
    """How much verdicts depend on the last bits of the taps."""

    lsb: CodeErrors | None  # null without an integer tap
    certified_kernels: list[str]  # under which thresholds hold, the target's own first
    kernels: list[KernelSet]  # empty unless several are certified


class Parity(TypedDict):
    """Rows on which reference, C and ONNX were compared, bit for bit."""

    rows: int  # held-out rows
    neighbours: int  # rows made to lie beside thresholds, and self-test vectors
    mismatches: int  # of both; a bundle has none
    first_mismatch: str | None  # where it is; null without one
    tolerance: float  # 0: bit for bit


class OutputParity(TypedDict):
    """Rows on which the tapped model's own output was compared with the original's."""

    output_rows: int  # test rows that were compared
    output_mismatches: int  # a bundle has none


class Proof(Parity, OutputParity):
    """What was compared, and found equal."""


class SelfTest(TypedDict):
    """Flipped bits of the tables that the self-test was not chosen by."""

    vectors: int  # of the self-test
    flips: int  # that were tried
    harmful: int  # that change a verdict or class of a candidate row
    found: int  # harmful ones that the self-test finds
    share: float | None  # found of harmful; null without a harmful one


class Sizes(TypedDict):
    """Bytes."""

    artifact: int  # of monitor.emon
    onnx: int  # of monitor.onnx
    monitors: int  # of the tables and nodes of all monitors


class RequirementLine(TypedDict):
    """What --require or --baseline demands, and what was measured on the test rows."""

    name: str  # of the figure; of a baseline, the difference to it
    wanted: str  # of it, in words
    measured: float | None  # null: it could not be
    interval: Interval | None  # 95 %
    met: bool  # false also where nothing was measured
    not_measured: str | None  # why


class Finding(TypedDict):
    """What a reader must know before relying on the numbers."""

    kind: str  # for programs
    text: str  # for people


class GuardedClass(TypedDict):
    """Fit rows of a class under a change."""

    label: str  # of the class
    tried: int  # rows that the model has right as they are, on which the change was tried
    broken: int  # rows of these that it has wrong when they are changed
    copies: int  # changed copies that monitors learned from
    errors: int  # copies of these that the model has wrong


class GuardedChange(TypedDict):
    """One property of images at one value."""

    property: str  # "noise", "rotation", "brightness", or a fault
    value: float  # in the property's unit; of a fault its severity
    classes: list[GuardedClass]


class Guard(TypedDict):
    """Changed copies of fit rows that monitors also learned from. No threshold knows of them: what
    is promised is of rows as they are."""

    changes: list[GuardedChange]
    copies: int  # of all changes and classes
    errors: int  # copies that the model has wrong
    share: float  # copies for each row that breaks: 1, or what keeps them no more than the fit rows


class Augmented(TypedDict):
    """Copies of fit rows, moved by a little, from which signals that classify features also
    learned, or for which it was tried. No threshold knows of them."""

    copies_of_each: int  # fit row
    copies: int  # that the model computes with finite numbers
    errors: int  # copies that the model has wrong
    used: bool  # as was asked, or because it helps


class AccuracyFit(TypedDict):
    """What ``accuracy fit`` learned of reference rows."""

    data: Source
    rows: int  # that were read
    accuracy: float  # share of them that is right
    monitor: str  # whose score stands for the probability of being right
    steps: int  # of the table from score to probability
    window: int  # images of the field that a device's estimate is about
    artifact_bytes: int  # by which the artifact grew
    members: int  # networks of the published ensemble; 0: none
    epochs: int  # that each was trained for
